// Graphs with rounded factors compute what emulated kernels on tensor cores compute.
#include "runtime/cuda/fusion/rounded_factors.h"

#include <cmath>
#include <string>

#include "gtest/gtest.h"
#include "kernels/codegen/product_precision.h"
#include "runtime/reference/reference.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

using codegen::ProductPrecision;

// Padding, a bias, groups, layout operators in front of factors, an epilogue, batches. Each result
// is a sum of `terms` products, plus at most a bias.
struct Case {
  const char* text;
  int64_t terms;
};
constexpr Case kCases[] = {
    {"graph product(x: f32[66,72], w: weight f32[72,68]) { p = matmul(x, w) return p }", 72},
    {R"(graph padded(x: f32[1,9,13,11], w: weight f32[34,9,3,3], b: f32[34]) {
      c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,1]} return c
    })",
     81},
    {R"(graph grouped(x: f32[1,16,13,12], w: weight f32[66,8,3,3]) {
      c = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2], groups = 2} return c
    })",
     72},
    {R"(graph moved(x: f32[3,64,36], w: f32[3,64,44]) {
      t = transpose(x) {perm = [0,2,1]} p = matmul(t, w) r = relu(p) return r
    })",
     64},
};

// A quarter of the values is halfway between two numbers of 11 bits, and a quarter between two of 8
// bits; the others have all bits of f32.
std::vector<Tensor> Inputs(const Graph& graph) {
  std::vector<Tensor> result;
  for (const Tensor& input : RandomInputs(graph)) {
    std::vector<double> values = input.ToDoubles();
    for (size_t i = 0; i < values.size(); ++i) {
      const double significand = std::floor(std::fabs(values[i]) * 128);
      if (i % 4 == 0) values[i] = 1 + (significand + 0.5) / 1024;
      if (i % 4 == 1) values[i] = -1 - (significand + 0.5) / 128;
    }
    result.push_back(*Tensor::FromDoubles(input.type(), values));
  }
  return result;
}

std::vector<double> Execute(const Graph& graph, const std::vector<Tensor>& inputs) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  auto outputs = (*executable)->Run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  return (*outputs)[0].ToDoubles();
}

// Every element's sum of |a| |b|, which is what a relative error of its terms refers to.
std::vector<double> Magnitudes(const Graph& graph, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> magnitudes;
  for (const Tensor& input : inputs) {
    std::vector<double> values = input.ToDoubles();
    for (double& v : values) v = std::fabs(v);
    magnitudes.push_back(*Tensor::FromDoubles(input.type(), values));
  }
  return Execute(graph, magnitudes);
}

cuda::PlanOptions In(ProductPrecision precision) {
  cuda::PlanOptions options;
  options.grid.precision = precision;
  return options;
}

// The weights as inputs, so that Magnitudes changes them too.
std::string WithInputs(std::string text) {
  for (size_t at; (at = text.find("weight ")) != std::string::npos;) text.erase(at, 7);
  return text;
}

class RoundedFactors : public testing::TestWithParam<ProductPrecision> {};

TEST_P(RoundedFactors, AreThoseOfEmulatedKernels) {
  EmulatedPlans plans;
  for (const Case& c : kCases) {
    const absl::Status added = plans.Add(GraphWithWeights(WithInputs(c.text)), In(GetParam()));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) {
    const Graph& graph = plans.graph(i);
    SCOPED_TRACE(graph.name());
    NodeTraitsCache traits;
    const cuda::RoundedFactors rounded = cuda::RoundFactors(graph, traits, In(GetParam()).grid);
    EXPECT_EQ(rounded.products, 1);
    EXPECT_EQ(rounded.left, 0);
    const std::vector<Tensor> inputs = Inputs(graph);
    auto outputs = plans.Run(i, inputs, /*seed=*/1);
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    const std::vector<double> actual = (*outputs)[0].ToDoubles(),
                              expected = Execute(rounded.graph, inputs),
                              unrounded = Execute(graph, inputs),
                              magnitude = Magnitudes(graph, inputs);
    // Only the sums may differ, by what the bound of a product of unrounded factors allows on
    // tensor cores.
    const double sums = codegen::ProductErrorBound(ProductPrecision::kBf16, 3 * kCases[i].terms) -
                        codegen::ProductErrorBound(ProductPrecision::kBf16, 0) + 0x1p-23;
    const double all = codegen::ProductErrorBound(GetParam(), kCases[i].terms) + 0x1p-23;
    bool matters = false;
    for (size_t e = 0; e < actual.size(); ++e) {
      ASSERT_LE(std::fabs(actual[e] - expected[e]), sums * magnitude[e]) << e;
      ASSERT_LE(std::fabs(actual[e] - unrounded[e]), all * magnitude[e]) << e;
      matters = matters || std::fabs(unrounded[e] - expected[e]) > sums * magnitude[e];
    }
    EXPECT_EQ(matters, GetParam() != ProductPrecision::kF32x3);
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, RoundedFactors,
                         testing::Values(ProductPrecision::kF32x3, ProductPrecision::kTf32,
                                         ProductPrecision::kF16, ProductPrecision::kBf16),
                         [](const auto& info) { return codegen::Name(info.param); });

TEST(RoundedFactors, SmallProductsAndOtherOperatorsStay) {
  const Graph graph = GraphWithWeights(R"(graph small(x: f32[4,8], w: f32[8,4], g: f32[4]) {
    p = matmul(x, w) n = layer_norm(p, g, g) return n
  })");
  NodeTraitsCache traits;
  const cuda::RoundedFactors rounded =
      cuda::RoundFactors(graph, traits, In(ProductPrecision::kTf32).grid);
  EXPECT_EQ(rounded.products, 0);
  EXPECT_EQ(rounded.graph.StructuralHash(), graph.StructuralHash());
}

// What a graph with round_tf32 computes in the precision `stored` is what the graph without it
// computes in tf32, to the bit: the same kernels, with one more rounding that changes nothing.
TEST(StoredTf32, IsComputedOnTensorCores) {
  EmulatedPlans plans;
  for (const Case& c : kCases) {
    const Graph graph = GraphWithWeights(c.text);
    NodeTraitsCache traits;
    const Graph rounded = cuda::RoundFactors(graph, traits, In(ProductPrecision::kTf32).grid).graph;
    ASSERT_TRUE(plans.Add(graph, In(ProductPrecision::kTf32)).ok());
    const absl::Status added = plans.Add(rounded, In(ProductPrecision::kStored));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); i += 2) {
    SCOPED_TRACE(plans.graph(i).name());
    int products = 0;
    for (const cuda::CudaStep& step : plans.plan(i + 1).steps) {
      for (const codegen::GridKernel& kernel : step.program->kernels) {
        products += kernel.tile && kernel.tile->precision == ProductPrecision::kTf32 ? 1 : 0;
      }
    }
    EXPECT_EQ(products, 1);
    const std::vector<Tensor> inputs = Inputs(plans.graph(i));
    auto whole = plans.Run(i, inputs, 1), stored = plans.Run(i + 1, inputs, 1);
    ASSERT_TRUE(whole.ok() && stored.ok()) << whole.status() << stored.status();
    EXPECT_EQ((*whole)[0].ToDoubles(), (*stored)[0].ToDoubles());
  }
}

// A rounded value that several products read, and something else; a factor that is rounded to TF32
// beside one of 16 bits; one that is not rounded.
TEST(StoredTf32, DependsOnBothFactors) {
  constexpr struct {
    const char* text;
    int products;
  } kGraphs[] = {
      {R"(graph shared(x: f32[64,64], w: f32[64,64], v: f32[64,64]) {
        h = relu(x) r = round_tf32(h) a = round_tf32(w) b = round_tf32(v)
        p = matmul(r, a) q = matmul(r, b) s = add(p, q) t = add(s, r) return t
      })",
       2},
      {R"(graph mixed(x: f32[64,64], w: bf16[64,64]) {
        r = round_tf32(x) a = cast(w) {dtype = "f32"} p = matmul(r, a) return p
      })",
       1},
      {R"(graph one(x: f32[64,64], w: f32[64,64]) {
        r = round_tf32(x) p = matmul(r, w) return p
      })",
       0},
      {R"(graph squared(x: f32[64,64], w: f32[64,64]) {
        r = round_tf32(x) s = mul(r, r) a = round_tf32(w) p = matmul(s, a) return p
      })",
       0},
  };
  EmulatedPlans plans;
  for (const auto& c : kGraphs) {
    const absl::Status added = plans.Add(GraphWithWeights(c.text), In(ProductPrecision::kStored));
    ASSERT_TRUE(added.ok()) << added;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) {
    SCOPED_TRACE(plans.graph(i).name());
    int products = 0;
    for (const cuda::CudaStep& step : plans.plan(i).steps) {
      for (const codegen::GridKernel& kernel : step.program->kernels) {
        products += kernel.tile && kernel.tile->precision == ProductPrecision::kTf32 ? 1 : 0;
      }
    }
    EXPECT_EQ(products, kGraphs[i].products);
    plans.ExpectMatchesReference(i);
  }
}

}  // namespace
}  // namespace lemma
