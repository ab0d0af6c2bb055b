#include "graph/tensor.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TensorTest, CountsAndPrints) {
  EXPECT_EQ(NumElements({}), 1);
  EXPECT_EQ(NumElements({2, 0, 3}), 0);
  EXPECT_EQ(NumElements({int64_t{1} << 40, int64_t{1} << 40}), std::numeric_limits<int64_t>::max());
  EXPECT_EQ((TensorType{DType::kI64, {2, 3}}).ToString(), "i64[2,3]");
  EXPECT_THAT(RowMajorStrides({2, 3, 4}), ElementsAre(12, 4, 1));
}

TEST(TensorTest, TooLargeIsAnErrorAndNotACrash) {
  Shape huge = {int64_t{1} << 40, int64_t{1} << 40};
  EXPECT_THAT(Tensor::Allocate({DType::kF32, huge}).status().message(), HasSubstr("too large"));
}

TEST(TensorTest, ConversionsRoundAndSaturate) {
  auto values = {-1e30, -2.7, 0.0, 300.0, std::nan("")};
  EXPECT_THAT(Tensor::FromDoubles({DType::kU8, {5}}, values)->ToInts(),
              ElementsAre(0, 0, 0, 255, 0));
  EXPECT_THAT(Tensor::FromDoubles({DType::kI32, {5}}, values)->ToInts(),
              ElementsAre(std::numeric_limits<int32_t>::min(), -2, 0, 300, 0));
  EXPECT_THAT(Tensor::FromDoubles({DType::kBool, {5}}, values)->ToInts(),
              ElementsAre(1, 1, 0, 1, 1));
  EXPECT_FALSE(Tensor::FromDoubles({DType::kF32, {4}}, values).ok());
}

TEST(TensorTest, LargeIntegersStayExact) {
  int64_t big = (int64_t{1} << 62) + 1;
  EXPECT_EQ(Tensor::Ints({big}).AtInt(0), big);
}

// Exhaustive: widening and narrowing again is the identity on all 65536 patterns but NaN's.
TEST(TensorTest, HalfAndBFloat16RoundTrip) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    uint16_t b = static_cast<uint16_t>(bits);
    float half = HalfToFloat(b), brain = BFloat16ToFloat(b);
    ASSERT_TRUE(std::isnan(half) || FloatToHalf(half) == b) << bits;
    ASSERT_TRUE(std::isnan(brain) || FloatToBFloat16(brain) == b) << bits;
  }
  EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(std::nanf("")))));
  EXPECT_TRUE(std::isnan(BFloat16ToFloat(FloatToBFloat16(std::nanf("")))));
}

TEST(TensorTest, HalfRoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(65504.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65519.9f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(1.0f + 0.00048828125f), 0x3c00);      // tie goes to even
  EXPECT_EQ(FloatToHalf(1.0f + 3 * 0.00048828125f), 0x3c02);  // tie goes to even
  EXPECT_EQ(FloatToHalf(std::ldexp(1.0f, -25)), 0);
  EXPECT_EQ(FloatToHalf(std::ldexp(1.5f, -25)), 1);
}

TEST(TensorTest, DoublesAreRoundedOnce) {
  // Just beside the middle between two numbers, where a float in between would be the middle.
  for (const double sign : {1.0, -1.0}) {
    const auto half = Tensor::FromDoubles({DType::kF16, {4}},
                                          {sign * (1 + std::ldexp(1, -11) + std::ldexp(1, -40)),
                                           sign * (1 + 3 * std::ldexp(1, -11) - std::ldexp(1, -40)),
                                           sign * 65519.999999, sign * std::ldexp(1, -200)});
    ASSERT_TRUE(half.ok()) << half.status();
    EXPECT_EQ(half->AtDouble(0), sign * (1 + std::ldexp(1, -10)));
    EXPECT_EQ(half->AtDouble(1), sign * (1 + std::ldexp(1, -10)));
    EXPECT_EQ(half->AtDouble(2), sign * 65504);
    EXPECT_EQ(half->AtDouble(3), 0);
    const auto brain = Tensor::FromDoubles(
        {DType::kBF16, {2}}, {sign * (1 + std::ldexp(1, -8) + std::ldexp(1, -40)), sign * 3.4e38});
    ASSERT_TRUE(brain.ok()) << brain.status();
    EXPECT_EQ(brain->AtDouble(0), sign * (1 + std::ldexp(1, -7)));
    EXPECT_TRUE(std::isinf(brain->AtDouble(1)));
  }
}

TEST(TensorTest, ContentHashSeesTypeAndBytes) {
  Tensor a = Tensor::Filled({DType::kF32, {2, 3}}, 1).value();
  EXPECT_EQ(a.ContentHash(), Tensor::Filled({DType::kF32, {2, 3}}, 1)->ContentHash());
  EXPECT_NE(a.ContentHash(), a.Reshaped({3, 2}).ContentHash());
  EXPECT_TRUE(a.Reshaped({3, 2}).Reshaped({2, 3}).SameBytes(a));
}

}  // namespace
}  // namespace lemma
