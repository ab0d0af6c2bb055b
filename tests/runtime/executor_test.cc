// The interface of back ends, errors, and random graphs.
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

std::vector<std::unique_ptr<Backend>> Backends() {
  std::vector<std::unique_ptr<Backend>> all;
  all.push_back(MakeCpuBackend());
  all.push_back(MakeReferenceBackend());
  return all;
}

TEST(Executor, WrongInputsAreNamed) {
  const Graph graph = GraphWithWeights(kTwoLayers);
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    auto executable = backend->Compile(graph, {});
    ASSERT_TRUE(executable.ok());
    EXPECT_EQ((*executable)->Run({}).status().message(), "net: takes 1 inputs, got 0");
    EXPECT_EQ((*executable)->Run({Tensor::ScalarF32(1)}).status().message(),
              "net: input x is f32[2,8], got f32[]");
  }
}

TEST(Executor, OpaqueOperatorsAndMissingValuesAreRefused) {
  GraphBuilder builder("net");
  Value x = builder.Input("x", {DType::kF32, {2}});
  Attrs attrs = {
      {"domain", std::string()}, {"op_type", std::string("TopK")}, {"payload", std::string()}};
  builder.Output("y", (*ApplyOpaque({x}, attrs, {{DType::kF32, {2}}}))[0]);
  const Graph opaque = *std::move(builder).Build();
  GraphBuilder other("net");
  Value w = other.Weight("w", TensorType{DType::kF32, {2}});
  other.Output("y", *other.Op("relu", {w}));
  const Graph unknown = *std::move(other).Build();
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    EXPECT_TRUE(absl::IsUnimplemented(backend->Compile(opaque, {}).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(backend->Compile(unknown, {}).status()));
  }
}

TEST(Executor, OnlyDevicesHaveClocksOfTheirOwn) {
  const Graph graph = GraphWithWeights(kTwoLayers);
  for (const std::unique_ptr<Backend>& backend : Backends()) {
    auto executable = backend->Compile(graph, {});
    ASSERT_TRUE(executable.ok());
    EXPECT_TRUE(absl::IsUnimplemented((*executable)->TimeRuns(RandomInputs(graph), 3).status()));
  }
}

TEST(Executor, TwoThreads) {
  const Graph graph = GraphWithWeights(kTwoLayers);
  ExpectCpuMatchesReference(graph, RandomInputs(graph), 2);
}

TEST(Executor, MemoryIsReported) {
  const Graph graph = GraphWithWeights(kTwoLayers);
  auto executable = ExpectCpuMatchesReference(graph, RandomInputs(graph));
  ASSERT_NE(executable, nullptr);
  EXPECT_GE(executable->memory().planned_bytes, 2 * 16 * 4);
  EXPECT_GE(executable->memory().weight_bytes, (8 * 16 + 16 * 4) * 4);
}

TEST(Tolerance, GrowsWithReductions) {
  const double shallow = RelativeTolerances(GraphWithWeights(kTwoLayers))[0];
  EXPECT_GT(shallow, 1e-7);
  EXPECT_LT(shallow, 1e-4);
  const Graph moves =
      GraphWithWeights("graph g(x: f32[2,3]) { y = transpose(x) {perm = [1,0]} return y }");
  EXPECT_EQ(RelativeTolerances(moves)[0], 0);
}

TEST(Tolerance, GrowsWithThePrecisionOfProducts) {
  const auto bf16 = codegen::ProductPrecision::kBf16;
  const Graph layers = GraphWithWeights(kTwoLayers);
  EXPECT_NEAR(RelativeTolerances(layers, {}, bf16)[0] - RelativeTolerances(layers)[0],
              2 * 4 * codegen::UnitRoundoff(bf16), 1e-12);
  // No tensor core computes these.
  const Graph norm = GraphWithWeights(R"(graph g(x: f32[4,8]) {
    s = mul(x, x)
    t = reduce_sum(s) {axes = [1], keepdims = 1}
    y = mul(x, t)
    return y
  })");
  EXPECT_EQ(RelativeTolerances(norm, {}, bf16), RelativeTolerances(norm));
}

TEST(Tolerance, AWrongElementIsFound) {
  Tensor a = *Tensor::FromDoubles({DType::kF32, {2}}, {1.0, 2.0});
  Tensor b = *Tensor::FromDoubles({DType::kF32, {2}}, {1.0, 2.001});
  EXPECT_FALSE(Compare(a, b, 1e-4).within);
  EXPECT_TRUE(Compare(a, b, 1e-3).within);
  EXPECT_FALSE(Compare(a, *Tensor::FromDoubles({DType::kF32, {2}}, {1.0, NAN}), 1).within);
}

// A random graph of images: convolutions of all kinds, poolings, concatenations, element-wise
// chains, reshapes, so that layouts meet in many ways.
Graph RandomGraph(uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int n) { return static_cast<int>(random() % n); };
  GraphBuilder builder(absl::StrCat("random", seed));
  std::vector<Value> values = {builder.Input("x", {DType::kF32, {1 + pick(2), 3, 6, 6}})};
  auto weight = [&](Shape shape) {
    std::uniform_real_distribution<double> real(-0.5, 0.5);
    std::vector<double> v(NumElements(shape));
    for (double& x : v) x = real(random);
    return builder.Weight(absl::StrCat("w", values.size()),
                          *Tensor::FromDoubles({DType::kF32, std::move(shape)}, v));
  };
  using Ints = std::vector<int64_t>;
  for (int step = 0; step < 12; ++step) {
    const Value x = values[pick(static_cast<int>(values.size()))];
    const int64_t c = x.shape()[1], k = 1 + pick(6);
    absl::StatusOr<Value> y = absl::InternalError("");
    switch (pick(9)) {
      case 0:
        y = builder.Op("conv2d", {x, weight({k, c, 1, 1})});
        break;
      case 1:
        y = builder.Op("conv2d", {x, weight({k, c, 3, 3})}, {{"pads", Ints{1, 1, 1, 1}}});
        break;
      case 2:
        y = builder.Op("conv2d", {x, weight({c, 1, 3, 3})},
                       {{"pads", Ints{1, 1, 1, 1}}, {"groups", c}});
        break;
      case 3:
        y = builder.Op("max_pool2d", {x}, {{"kernel", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}});
        break;
      case 4:
        y = builder.Op(pick(2) ? "relu" : "sigmoid", {x});
        break;
      case 5:
        y = builder.Op("add", {x, pick(2) ? x : weight({c, 1, 1})});
        break;
      case 6: {
        std::vector<Value> parts;
        for (int i = 2 + pick(2); i > 0; --i)
          parts.push_back(values[pick(static_cast<int>(values.size()))]);
        y = builder.Op("concat", parts, {{"axis", int64_t{1}}});
        break;
      }
      case 7: {
        const Value other = values[pick(static_cast<int>(values.size()))];
        y = builder.Op("mul", {x, other.shape() == x.shape() ? other : x});
        break;
      }
      case 8:
        y = builder.Op("transpose", {x}, {{"perm", Ints{0, 1, 3, 2}}});
        break;
    }
    EXPECT_TRUE(y.ok()) << y.status();
    if (y.ok() && y->shape()[1] <= 40) values.push_back(*y);
  }
  builder.Output("last", values.back());
  builder.Output("other", values[pick(static_cast<int>(values.size()))]);
  return *std::move(builder).Build();
}

TEST(RandomGraphs, CpuMatchesReference) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Graph graph = RandomGraph(seed);
    const std::vector<Tensor> inputs = RandomInputs(graph, seed);
    auto executable = ExpectCpuMatchesReference(graph, inputs);
    ASSERT_NE(executable, nullptr);
    std::vector<KernelTiming> timings;
    ASSERT_TRUE(executable->RunTimed(inputs, &timings).ok());
    for (const KernelTiming& t : timings) {
      EXPECT_NE(t.note, "ref:any") << t.kernel << "\n" << executable->Describe();
    }
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace lemma
