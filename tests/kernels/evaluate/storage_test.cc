// Conversions between storage and numbers, through definitions that copy and add.
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/loops/definition_testutil.h"

namespace lemma {
namespace {

using testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Stores x + 0, computed in Number, as `to`. The addition keeps the copy from being bytewise.
template <class Number, class To, class From>
std::vector<To> Convert(DType from, const std::vector<From>& x, DType to) {
  const int64_t n = static_cast<int64_t>(x.size());
  DefinitionBuilder b;
  TensorId input = b.Input({n}, from);
  b.Output(
      {n}, [&](const Idx& o) { return Read(input, o) + 0; }, to);
  std::vector<To> y(n);
  MutableTensorView out{y.data(), to, {1}};
  absl::Status status = Run<Number>(*CompileLoops(b.definition()), {{x.data(), from, {1}}}, {out});
  EXPECT_TRUE(status.ok()) << status;
  return y;
}

template <class Number>
void ExpectSmallIntegersSurvive() {
  std::vector<double> x = {0, 1, 2, 100};
  auto check = [&](DType dtype, auto element) {
    using E = decltype(element);
    auto stored = Convert<Number, E>(DType::kF64, x, dtype);
    EXPECT_EQ((Convert<Number, double>(dtype, stored, DType::kF64)), x) << Name(dtype);
  };
  check(DType::kF32, float());
  check(DType::kF64, double());
  check(DType::kF16, uint16_t());
  check(DType::kBF16, uint16_t());
  check(DType::kI64, int64_t());
  check(DType::kI32, int32_t());
  check(DType::kI8, int8_t());
  check(DType::kU8, uint8_t());
  EXPECT_THAT((Convert<Number, uint8_t>(DType::kF64, x, DType::kBool)), ElementsAre(0, 1, 1, 1));
}

TEST(Storage, EveryTypeInEveryNumber) {
  ExpectSmallIntegersSurvive<double>();
  ExpectSmallIntegersSurvive<float>();
  ExpectSmallIntegersSurvive<int64_t>();
  ExpectSmallIntegersSurvive<Field>();
}

// The value of a binary float with the given widths, by its definition.
double Decode(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = bits >> (exponent_bits + mantissa_bits) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? NAN : sign * kInf;
  const double fraction = std::ldexp(mantissa, -mantissa_bits);
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias)
                               : std::ldexp(1 + fraction, exponent - bias));
}

// All 16-bit values are read as defined. Numbers between neighbors round to the nearer one, ties
// to the even one.
template <class Number>
void ExpectNarrowFloat(DType dtype, int exponent_bits, int mantissa_bits) {
  std::vector<uint16_t> all(1 << 16);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  auto values = Convert<Number, double>(dtype, all, DType::kF64);
  std::vector<double> between;
  std::vector<uint16_t> expected;
  for (uint32_t i = 0; i < all.size(); ++i) {
    const double value = Decode(i, exponent_bits, mantissa_bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(values[i]));
      continue;
    }
    ASSERT_EQ(values[i], value + 0.0);
    const double next = Decode(i + 1, exponent_bits, mantissa_bits);
    if (i >= 0x8000 || !std::isfinite(next)) continue;
    for (double part : {0.25, 0.5, 0.75}) {
      between.push_back(value + part * (next - value));
      bool up = part > 0.5 || (part == 0.5 && i % 2 == 1);
      expected.push_back(static_cast<uint16_t>(up ? i + 1 : i));
    }
  }
  EXPECT_EQ((Convert<Number, uint16_t>(DType::kF64, between, dtype)), expected);
}

TEST(Storage, NarrowFloats) {
  ExpectNarrowFloat<double>(DType::kF16, 5, 10);
  ExpectNarrowFloat<double>(DType::kBF16, 8, 7);
  ExpectNarrowFloat<float>(DType::kF16, 5, 10);
  ExpectNarrowFloat<float>(DType::kBF16, 8, 7);
}

TEST(Storage, DoublesAreRoundedOnce) {
  // Just above the middle between 1 and 1 + 2^-10. Rounded to float first, it would become the
  // middle.
  std::vector<double> x = {
      1 + std::ldexp(1, -11) + std::ldexp(1, -40), 1e300, -1e300, NAN, 65519, 65520};
  auto half = Convert<double, uint16_t>(DType::kF64, x, DType::kF16);
  EXPECT_THAT(half, ElementsAre(0x3c01, 0x7c00, 0xfc00, 0x7e00, 0x7bff, 0x7c00));
  x[0] = 1 + std::ldexp(1, -8) + std::ldexp(1, -40);
  auto brain = Convert<double, uint16_t>(DType::kF64, x, DType::kBF16);
  EXPECT_EQ(brain[0], 0x3f81);
  EXPECT_TRUE(std::isnan(Decode(brain[3], 8, 7)));
}

TEST(Storage, RealsSaturateIntegersWrap) {
  std::vector<double> x = {-1e30, -300.5, -1.9, 1.9, 300.5, 1e30, NAN, kInf};
  EXPECT_THAT((Convert<double, int8_t>(DType::kF64, x, DType::kI8)),
              ElementsAre(-128, -128, -1, 1, 127, 127, 0, 127));
  EXPECT_THAT((Convert<float, uint8_t>(DType::kF64, x, DType::kU8)),
              ElementsAre(0, 0, 0, 1, 255, 255, 0, 255));
  EXPECT_THAT((Convert<float, int32_t>(DType::kF64, x, DType::kI32)),
              ElementsAre(INT32_MIN, -300, -1, 1, 300, INT32_MAX, 0, INT32_MAX));
  EXPECT_THAT((Convert<double, int64_t>(DType::kF64, x, DType::kI64)),
              ElementsAre(INT64_MIN, -300, -1, 1, 300, INT64_MAX, 0, INT64_MAX));
  std::vector<int64_t> y = {300, -1, int64_t{1} << 32};
  EXPECT_THAT((Convert<int64_t, uint8_t>(DType::kI64, y, DType::kU8)), ElementsAre(44, 255, 0));
  EXPECT_THAT((Convert<int64_t, int32_t>(DType::kI64, y, DType::kI32)), ElementsAre(300, -1, 0));
}

TEST(Storage, CopiesKeepEveryBit) {
  // 2^53 + 1 is no double, let alone a float.
  std::vector<int64_t> x = {(int64_t{1} << 53) + 1, 2, 3, -4, 5, 6}, y(6);
  DefinitionBuilder b;
  TensorId input = b.Input({2, 3}, DType::kI64);
  b.Output(
      {3, 2},
      [&](const Idx& o) {
        return Read(input, {o[1], o[0]});
      },
      DType::kI64);
  MutableTensorView out{y.data(), DType::kI64, {2, 1}};
  ASSERT_TRUE(
      lemma::Run<float>(*CompileLoops(b.definition()), {{x.data(), DType::kI64, {3, 1}}}, {out})
          .ok());
  EXPECT_THAT(y, ElementsAre(x[0], -4, 2, 5, 3, 6));
}

TEST(Storage, IndicesAreReadExactlyWhateverTheNumber) {
  std::vector<int32_t> rows = {1, 0};
  std::vector<float> table = {10, 20, 30, 40}, y(4);
  DefinitionBuilder b;
  TensorId t = b.Input({2, 2}), r = b.Input({2}, DType::kI32);
  b.Output({2, 2}, [&](const Idx& o) { return Read(t, {Load(Read(r, {o[0]})), o[1]}); });
  MutableTensorView out{y.data(), DType::kF32, {2, 1}};
  ASSERT_TRUE(lemma::Run<float>(
                  *CompileLoops(b.definition()),
                  {{table.data(), DType::kF32, {2, 1}}, {rows.data(), DType::kI32, {1}}}, {out})
                  .ok());
  EXPECT_THAT(y, ElementsAre(30, 40, 10, 20));
}

}  // namespace
}  // namespace lemma
