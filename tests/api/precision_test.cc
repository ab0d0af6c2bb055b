#include "api/precision.h"

#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/model_text.h"

namespace lemma::api {
namespace {

using codegen::ProductPrecision;
using testing::HasSubstr;

PrecisionResult Measured(const std::string& text) {
  auto result = MeasurePrecisions(ModelOf(text), {});
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : PrecisionResult();
}

// Every weight is halfway between two TF32 numbers. Away from 0, it changes by 2^-11.
TEST(PrecisionTest, ErrorsAreThoseOfTheRoundings) {
  const PrecisionResult result = Measured(R"(
    graph g(x: f32[16,64], w: weight f32[64,16] = fill 1.00048828125) {
      y = matmul(x, w) n = relu(y) return y, n
    })");
  ASSERT_EQ(result.rows.size(), 5u);
  EXPECT_EQ(result.not_finite, 0);
  for (const PrecisionRow& row : result.rows) {
    SCOPED_TRACE(codegen::Name(row.precision));
    EXPECT_EQ(row.products, 1);
    EXPECT_EQ(row.rounded, 1);
    EXPECT_EQ(row.left, 0);
    EXPECT_EQ(row.terms, 64);
    EXPECT_EQ(row.bound, codegen::ProductErrorBound(row.precision, 64));
    ASSERT_EQ(row.errors.size(), 2u);
    EXPECT_EQ(row.errors[0].output, "y");
    EXPECT_LE(row.tolerance_used, 1);
    EXPECT_EQ(row.largest, std::max(row.errors[0].largest, row.errors[1].largest));
    EXPECT_EQ(row.relative, std::max(row.errors[0].relative, row.errors[1].relative));
    // f16 and bf16 go to 1, f16 as the even neighbor.
    const bool rounds =
        row.precision != ProductPrecision::kF32 && row.precision != ProductPrecision::kF32x3;
    EXPECT_GT(row.errors[0].relative, rounds ? 0x1p-12 : 0);
    EXPECT_LT(row.errors[0].relative, !rounds                                    ? 1e-6
                                      : row.precision == ProductPrecision::kBf16 ? 0x1p-8
                                                                                 : 0x1p-10);
  }
}

TEST(PrecisionTest, ConvolutionsCountAsProducts) {
  const PrecisionResult result = Measured(R"(
    graph g(x: f32[1,32,12,12], w: weight f32[32,16,3,3] = fill 0.25, b: weight f32[32] = fill 1) {
      y = conv2d(x, w, b) {groups = 2} return y
    })");
  ASSERT_EQ(result.rows.size(), 5u);
  for (const PrecisionRow& row : result.rows) {
    SCOPED_TRACE(codegen::Name(row.precision));
    EXPECT_EQ(row.products, 1);
    EXPECT_EQ(row.rounded, 1);
    EXPECT_EQ(row.terms, 144);
    EXPECT_NEAR(row.errors[0].allowed - result.rows[0].errors[0].allowed,
                4 * codegen::UnitRoundoff(row.precision), 1e-9);
  }
}

TEST(PrecisionTest, WhatIsNotFiniteIsLeftOut) {
  const PrecisionResult result = Measured(R"(
    graph g(x: f32[8]) { a = scalar_mul(x) {alpha = 100000} y = exp(a) return y })");
  EXPECT_GT(result.not_finite, 0);
  EXPECT_LT(result.rows[0].largest, 1e-3);
  EXPECT_EQ(result.rows[0].products, 0);
  EXPECT_EQ(result.rows[0].bound, 0);
}

// A sum with a much larger number leaves an error of half a unit in the last place of that number.
TEST(PrecisionTest, ToleranceOfSmallOutputsIsThatOfOne) {
  const PrecisionResult result = Measured(R"(
    graph g(x: f32[64]) {
      k = constant f32[64] fill 1.0 s = scalar_mul(x) {alpha = 0.00001}
      a = add(s, k) y = sub(a, k) return y
    })");
  ASSERT_EQ(result.rows.size(), 5u);
  EXPECT_GT(result.rows[0].largest, 1e-4);
  EXPECT_GT(result.rows[0].errors[0].allowed, 1e-2);
  EXPECT_TRUE(result.within());
}

TEST(PrecisionTest, EveryOutputHasItsOwnTolerance) {
  const PrecisionResult result = Measured(R"(
    graph g(x: f32[16,64], w: weight f32[64,16] = fill 1.0) {
      k = constant f32[16,64] fill 10000.0
      z = matmul(x, w) a = add(x, k) y = sub(a, k) return z, y
    })");
  ASSERT_EQ(result.rows.size(), 5u);
  for (const PrecisionRow& row : result.rows) {
    SCOPED_TRACE(codegen::Name(row.precision));
    ASSERT_EQ(row.errors.size(), 2u);
    EXPECT_LE(row.errors[0].largest, row.errors[0].allowed);
    EXPECT_GT(row.errors[1].largest, row.errors[1].allowed);
    EXPECT_EQ(row.tolerance_used, row.errors[1].largest / row.errors[1].allowed);
  }
  EXPECT_FALSE(result.within());
}

TEST(PrecisionTest, RefusesWrongOptions) {
  const Model model = ModelOf("graph g(x: f32[8]) { y = relu(x) return y }");
  PrecisionOptions options;
  options.precisions = {ProductPrecision::kStored};
  EXPECT_THAT(std::string(MeasurePrecisions(model, options).status().message()),
              HasSubstr("option precisions: stored rounds nothing"));
  options = {};
  options.threads = 0;
  EXPECT_THAT(std::string(MeasurePrecisions(model, options).status().message()),
              HasSubstr("option threads"));
  options = {};
  options.architecture = 70;
  EXPECT_THAT(std::string(MeasurePrecisions(model, options).status().message()),
              HasSubstr("option architecture: must be 80 or 90"));
}

TEST(PrecisionTest, NamesAreReadBack) {
  const std::vector<std::string> names = codegen::ProductPrecisionNames();
  EXPECT_EQ(names.size(), static_cast<size_t>(codegen::kNumProductPrecisions));
  EXPECT_EQ(names.front(), "f32");
  for (const std::string& name : names) {
    EXPECT_EQ(codegen::Name(*codegen::ParseProductPrecision(name)), name);
  }
  EXPECT_FALSE(codegen::ParseProductPrecision("f64"));
}

}  // namespace
}  // namespace lemma::api
