// Sums of products on emulated tensor cores: every tile and precision, within its error bound.
#include <cmath>
#include <iterator>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/codegen/product_precision.h"
#include "kernels/codegen/tile_choice.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;
using codegen::TileChoice;

constexpr ProductPrecision kPrecisions[] = {ProductPrecision::kF32x3, ProductPrecision::kTf32,
                                            ProductPrecision::kF16, ProductPrecision::kBf16};

// A graph that grows with its inputs' absolute values, and the number of products in a sum.
struct Case {
  const char* text;
  int64_t terms;
};

// Borders on every side; loads along rows and along the depth, in packs and one by one; guards;
// divided indices; batches; an epilogue; factors of 16 bits.
constexpr Case kCases[] = {
    {R"(graph product(x: f32[67,70], w: f32[70,69], b: f32[69]) {
      p = matmul(x, w)
      q = add(p, b)
      r = relu(q)
      return r
    })",
     70},
    {"graph packed(x: f32[132,68], w: f32[68,132]) { p = matmul(x, w) return p }", 68},
    {R"(graph transposed(x: f32[72,66], w: f32[68,72]) {
      a = transpose(x) {perm = [1,0]}
      b = transpose(w) {perm = [1,0]}
      p = matmul(a, b)
      return p
    })",
     72},
    {R"(graph strided(x: f32[2,9,13,11], w: f32[34,9,3,3], b: f32[34]) {
      c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,1]}
      return c
    })",
     81},
    {R"(graph grouped(x: f32[2,16,13,12], w: f32[66,8,3,3]) {
      c = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2], groups = 2}
      return c
    })",
     72},
    {"graph batches(x: f32[3,36,64], w: f32[3,64,44]) { p = matmul(x, w) return p }", 64},
    {R"(graph halves(x: bf16[34,72], w: f16[72,36]) {
      a = cast(x) {dtype = "f32"}
      b = cast(w) {dtype = "f32"}
      p = matmul(a, b)
      return p
    })",
     72},
};

std::vector<Tensor> Magnitudes(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> result;
  for (const Tensor& input : inputs) {
    std::vector<double> values;
    for (int64_t i = 0; i < input.type().num_elements(); ++i)
      values.push_back(std::fabs(input.AtDouble(i)));
    result.push_back(*Tensor::FromDoubles(input.type(), values));
  }
  return result;
}

std::vector<Tensor> Exact(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto backend = MakeReferenceBackend(BetweenOperators::kUnrounded);
  auto executable = backend->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return *std::move(outputs);
}

class TensorTiles : public testing::TestWithParam<ProductPrecision> {};

TEST_P(TensorTiles, EachIsWithinTheBound) {
  const auto tiles = codegen::TileShapes(GetParam());
  EmulatedPlans plans;
  std::vector<Case> cases;
  std::set<std::string> schedules;
  int in_parts = 0;
  for (size_t tile = 0; tile < tiles.size(); ++tile) {
    for (const Case& c : kCases) {
      cuda::PlanOptions options;
      options.grid.tile = TileChoice{
          static_cast<int>(tile), plans.size() / std::size(kCases) % 2 == cases.size() % 2 ? 1 : 2};
      options.grid.precision = GetParam();
      const absl::Status added = plans.Add(GraphOf(c.text), options);
      ASSERT_TRUE(added.ok()) << added;
      cases.push_back(c);
      for (const cuda::CudaStep& step : plans.plan(plans.size() - 1).steps) {
        for (const codegen::GridKernel& kernel : step.program->kernels) {
          if (!kernel.tile) continue;
          schedules.insert(kernel.schedule);
          in_parts += kernel.tile->choice.parts > 1 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_EQ(schedules.size(), tiles.size());
  EXPECT_GE(in_parts, 20);
  const absl::Status compiled = plans.Compile();
  ASSERT_TRUE(compiled.ok()) << compiled;
  double largest = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(cases[i].text);
    const std::vector<Tensor> inputs = RandomInputs(plans.graph(i), i + 1);
    const Tensor exact = Exact(plans.graph(i), inputs)[0];
    const Tensor scale = Exact(plans.graph(i), Magnitudes(inputs))[0];
    auto actual = plans.Run(i, inputs, i);
    ASSERT_TRUE(actual.ok()) << actual.status();
    const double bound = codegen::ProductErrorBound(GetParam(), cases[i].terms) + 0x1p-22;
    double worst = 0;
    for (int64_t e = 0; e < exact.type().num_elements(); ++e) {
      const double error = std::fabs((*actual)[0].AtDouble(e) - exact.AtDouble(e));
      ASSERT_LE(error, bound * scale.AtDouble(e)) << "element " << e;
      if (scale.AtDouble(e) > 0) worst = std::max(worst, error / (bound * scale.AtDouble(e)));
    }
    largest = std::max(largest, worst);
  }
  // The bound says something: rounding of this precision is visible.
  EXPECT_GT(largest, GetParam() == ProductPrecision::kF32x3 ? 1e-3 : 0.02);
}
INSTANTIATE_TEST_SUITE_P(Precisions, TensorTiles, testing::ValuesIn(kPrecisions),
                         [](const auto& test) { return codegen::Name(test.param); });

TEST(TensorTiles, SpecialValues) {
  // Infinite and NaN factors give what IEEE arithmetic gives; f32x3 gives NaN for an infinite one.
  EmulatedPlans plans;
  for (ProductPrecision precision : kPrecisions) {
    cuda::PlanOptions options;
    options.grid.precision = precision;
    ASSERT_TRUE(
        plans
            .Add(GraphOf("graph g(x: f32[64,64], w: f32[64,64]) { p = matmul(x, w) return p }"),
                 options)
            .ok());
  }
  ASSERT_TRUE(plans.Compile().ok());
  const TensorType type{DType::kF32, {64, 64}};
  std::vector<double> x(64 * 64, 1.0), w(64 * 64, 0.5);
  x[0] = INFINITY;
  x[64] = NAN;
  x[2 * 64] = -INFINITY;
  x[3 * 64] = 1e-30;
  for (size_t i = 0; i < plans.size(); ++i) {
    auto out = plans.Run(
        i, std::vector<Tensor>{*Tensor::FromDoubles(type, x), *Tensor::FromDoubles(type, w)}, 1);
    ASSERT_TRUE(out.ok()) << out.status();
    const Tensor& y = (*out)[0];
    if (kPrecisions[i] == ProductPrecision::kF32x3) {
      EXPECT_FALSE(std::isfinite(y.AtDouble(0)));
      EXPECT_FALSE(std::isfinite(y.AtDouble(2 * 64)));
    } else {
      EXPECT_EQ(y.AtDouble(0), INFINITY);
      EXPECT_EQ(y.AtDouble(2 * 64), -INFINITY);
    }
    EXPECT_TRUE(std::isnan(y.AtDouble(64)));
    EXPECT_EQ(y.AtDouble(3 * 64), 31.5);
    EXPECT_EQ(y.AtDouble(4 * 64), 32);
  }
}

TEST(TensorTiles, FewBlocksAddUpParts) {
  EXPECT_GE(codegen::ChooseTile({1, 512, 49, 4608, 1, 10}, ProductPrecision::kBf16).parts, 4);
  EXPECT_EQ(codegen::ChooseTile({1, 8192, 8192, 64}, ProductPrecision::kBf16).parts, 1);
}

TEST(ProductErrorBound, GrowsWithCoarserFormatsAndLongerSums) {
  double last = 0;
  for (ProductPrecision precision : {ProductPrecision::kF32, ProductPrecision::kF32x3,
                                     ProductPrecision::kTf32, ProductPrecision::kBf16}) {
    EXPECT_GT(codegen::ProductErrorBound(precision, 64), last);
    last = codegen::ProductErrorBound(precision, 64);
    EXPECT_LT(last, codegen::ProductErrorBound(precision, 128));
  }
  EXPECT_TRUE(std::isinf(codegen::ProductErrorBound(ProductPrecision::kBf16, int64_t{1} << 24)));
}

}  // namespace
}  // namespace lemma
