#include "graph/dtypes/packed_values.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lemma {
namespace {

std::string Bytes(const std::vector<int>& bytes) { return {bytes.begin(), bytes.end()}; }

TEST(PackedValues, TheFirstValueIsInTheLowestBits) {
  const struct {
    DType dtype;
    std::vector<int64_t> values;
    std::vector<int> packed;
  } cases[] = {
      {DType::kI4, {}, {}},
      {DType::kI4, {-8}, {0x08}},
      {DType::kI4, {1, -2, 7}, {0xe1, 0x07}},
      {DType::kU4, {15, 0, 9}, {0x0f, 0x09}},
      {DType::kI2, {-2, 1, -1, 0}, {0x36}},
      {DType::kI2, {1, 1, 1, 1, -1}, {0x55, 0x03}},
      {DType::kU2, {3, 2, 1}, {0x1b}},
  };
  for (const auto& c : cases) {
    const TensorType type{c.dtype, {static_cast<int64_t>(c.values.size())}};
    const Tensor tensor = *Tensor::FromInts(type, c.values);
    EXPECT_EQ(tensor.type().num_bytes(), static_cast<int64_t>(c.values.size()));
    EXPECT_EQ(PackedBytes(type), static_cast<int64_t>(c.packed.size()));
    EXPECT_EQ(Packed(tensor), Bytes(c.packed)) << Name(c.dtype);
    Tensor again = *Tensor::Allocate(type);
    Unpack(type, Bytes(c.packed).data(), again.mutable_raw());
    EXPECT_TRUE(again.SameBytes(tensor)) << Name(c.dtype);
  }
}

TEST(PackedValues, EveryByteOfFloatsIsKept) {
  const TensorType type{DType::kF4E2M1, {2}};
  for (int byte = 0; byte < 256; ++byte) {
    Tensor tensor = *Tensor::Allocate(type);
    Unpack(type, Bytes({byte}).data(), tensor.mutable_raw());
    EXPECT_TRUE(HoldsValues(tensor));
    EXPECT_EQ(Packed(tensor), Bytes({byte}));
  }
}

TEST(PackedValues, OtherTypesAreAsTheyAre) {
  const Tensor tensor = Tensor::Ints({1, 2});
  EXPECT_FALSE(IsPacked(DType::kF8E4M3));
  EXPECT_EQ(PackedBytes(tensor.type()), 16);
  EXPECT_TRUE(FileBytes(tensor).SameBytes(tensor));
  EXPECT_EQ(PackedBytes({DType::kI4, {INT64_MAX, 2}}), INT64_MAX);
}

TEST(PackedValues, BytesThatAreNoValuesAreFound) {
  const auto holds = [](DType dtype, int byte) {
    Tensor tensor = *Tensor::Allocate({dtype, {1}});
    tensor.mutable_data<uint8_t>()[0] = static_cast<uint8_t>(byte);
    return HoldsValues(tensor);
  };
  EXPECT_TRUE(holds(DType::kI4, 0xf8));  // -8
  EXPECT_FALSE(holds(DType::kI4, 0x08));
  EXPECT_TRUE(holds(DType::kU4, 0x0f));
  EXPECT_FALSE(holds(DType::kU4, 0x10));
  EXPECT_FALSE(holds(DType::kI2, 0x02));
  EXPECT_FALSE(holds(DType::kF4E2M1, 0x10));
  EXPECT_TRUE(holds(DType::kI8, 0x80));
  EXPECT_TRUE(holds(DType::kBool, 1));
  EXPECT_FALSE(holds(DType::kBool, 2));
}

TEST(PackedValues, NumbersOutsideTheTypeSaturate) {
  EXPECT_EQ(Tensor::FromInts({DType::kI4, {2}}, {9, -100})->ToInts(),
            std::vector<int64_t>({7, -8}));
  EXPECT_EQ(Tensor::FromDoubles({DType::kU2, {3}}, {-1, 2.9, 1e30})->ToInts(),
            std::vector<int64_t>({0, 2, 3}));
}

}  // namespace
}  // namespace lemma
