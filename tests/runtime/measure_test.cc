// Measuring single kernels, and the places of their operands meanwhile.
#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/stopwatch.h"
#include "gtest/gtest.h"
#include "runtime/cpu/caches.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cpu/planner.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

TEST(Measure, SignaturesDoNotDependOnNamesOrValues) {
  auto measurer = MakeCpuMeasurer();
  auto a = measurer->Plan(GraphWithWeights(kTwoLayers, 1)),
       b = measurer->Plan(GraphWithWeights(kTwoLayers, 2));
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_EQ(a->kernels.size(), 2u);
  EXPECT_EQ(a->kernels[0].signature,
            "matmul(f32[2,8], f32[8,16] static) {matmul(i0 i1); relu(n0)} -> f32[2,16]");
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(a->kernels[i].signature, b->kernels[i].signature);
}

// Some powers are much faster than others, so a known exponent is part of the work.
TEST(Measure, AnExponentIsMeasuredAsItIs) {
  auto measurer = MakeCpuMeasurer();
  const auto plan = [&](const std::string& exponent) {
    auto made =
        measurer->Plan(GraphWithWeights("graph g(x: f32[256,1024]) {\n  c = constant f32[] fill " +
                                        exponent + "\n  y = pow(x, c)\n  return y\n}"));
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->kernels.size(), 1);
    return made->kernels[0];
  };
  const PlannedKernel square = plan("2.0"), other = plan("2.5");
  EXPECT_NE(square.signature, other.signature);
  EXPECT_EQ(square.signature, plan("2.0").signature);
  EXPECT_TRUE(absl::StrContains(square.signature, "^2")) << square.signature;
  double ms[2] = {1e9, 1e9};
  for (int i = 0; i < 3; ++i) {
    ms[0] = std::min(ms[0], *measurer->MeasureMs(square));
    ms[1] = std::min(ms[1], *measurer->MeasureMs(other));
  }
  EXPECT_LT(ms[0], ms[1] / 2);  // a tenth and less on processors with AVX2
}

// An activation in one operator and in two is the same work, another one is not.
TEST(Measure, AnActivationMayBeTwoOperators) {
  auto measurer = MakeCpuMeasurer();
  const auto fused = [&](const std::string& activation) {
    auto plan = measurer->Plan(GraphWithWeights(
        "graph g(x: f32[1,8,9,9], w: weight f32[8,8,3,3]) {\n  a = conv2d(x, w)\n" + activation +
        "  return y\n}"));
    EXPECT_TRUE(plan.ok()) << plan.status();
    for (const PlannedKernel& kernel : plan->kernels) {
      if (absl::StrContains(kernel.signature, "conv2d(")) return measurer->TraitsOf(kernel).fused;
    }
    ADD_FAILURE() << "no convolution";
    return std::vector<std::string>();
  };
  const auto silu = fused("  y = silu(a)\n");
  EXPECT_EQ(fused("  s = sigmoid(a)\n  y = mul(a, s)\n"), silu);
  EXPECT_NE(fused("  y = sigmoid(a)\n"), silu);
  EXPECT_NE(fused("  y = relu(a)\n"), silu);
}

TEST(Measure, EveryKernelOfAGraphCanBeMeasured) {
  auto measurer = MakeCpuMeasurer();
  auto plan = measurer->Plan(GraphWithWeights(R"(graph g(x: f32[1,6,8,8], w: weight f32[6,6,3,3],
      i: i64[3], t: weight f32[9,4]) {
    a = conv2d(x, w) {pads = [1,1,1,1]}
    b = add(a, x)
    c = max_pool2d(b) {kernel = [2,2], strides = [2,2]}
    d = reduce_sum(c) {axes = [1]}
    e = gather(t, i) {axis = 0}
    return d, e
  })"));
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const PlannedKernel& kernel : plan->kernels) {
    auto ms = measurer->MeasureMs(kernel);
    ASSERT_TRUE(ms.ok()) << kernel.signature << ": " << ms.status();
    EXPECT_GT(*ms, 0) << kernel.signature;
    EXPECT_LT(*ms, 100) << kernel.signature;
  }
}

// A product of integers is measured with integers as weights: with others, its kernel would compute
// by the definition, many times slower.
TEST(Measure, AProductOfIntegersIsMeasuredOnIntegers) {
  auto measurer = MakeCpuMeasurer();
  auto least = [&](const std::string& text, const std::string& kind) {
    double ms = std::numeric_limits<double>::infinity();
    auto plan = measurer->Plan(GraphWithWeights(text));
    EXPECT_TRUE(plan.ok()) << plan.status();
    int products = 0;
    for (const PlannedKernel& kernel : plan->kernels) {
      if (!absl::StartsWith(kernel.signature, kind)) continue;
      ++products;
      for (int i = 0; i < 3; ++i) ms = std::min(ms, *measurer->MeasureMs(kernel));
    }
    EXPECT_EQ(products, 1) << kind;
    return ms;
  };
  const double floats = least(R"(graph g(x: f32[1,64,28,28], w: weight f32[64,64,3,3]) {
    y = conv2d(x, w) {pads = [1,1,1,1]}
    return y
  })",
                              "conv(");
  const double integers = least(R"(graph g(x: u8[1,64,28,28], w: weight i8[64,64,3,3]) {
    a = cast(x) {dtype = "f32"}
    b = cast(w) {dtype = "f32"}
    y = conv2d(a, b) {pads = [1,1,1,1]}
    return y
  })",
                                "integer product(");
  EXPECT_LT(integers, 4 * floats);
}

// The kernels of a run have the signatures of the plan, under which costs are kept.
TEST(Measure, ARunHasTheSignaturesOfThePlan) {
  const Graph graph = GraphWithWeights(kTwoLayers);
  auto plan = MakeCpuMeasurer()->Plan(graph);
  auto executable = MakeCpuBackend()->Compile(graph, {});
  ASSERT_TRUE(plan.ok() && executable.ok());
  std::vector<KernelTiming> rows;
  ASSERT_TRUE((*executable)->RunTimed(RandomInputs(graph), &rows).ok());
  ASSERT_EQ(rows.size(), plan->kernels.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].signature, plan->kernels[i].signature);
    EXPECT_GE(rows[i].ms, 0);
  }
}

// Costs with and without fusion of layout operators are kept apart.
TEST(Measure, FusionIsPartOfTheDevice) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f32[6,9], w: weight f32[6,4]) {
    t = transpose(x) {perm = [1,0]}
    y = matmul(t, w)
    return y
  })");
  auto fused = MakeCpuMeasurer(), apart = MakeCpuMeasurer(1, {/*fuse_layout=*/false});
  EXPECT_EQ(apart->device(), fused->device() + ", fusion off");
  auto plan = apart->Plan(graph);
  ASSERT_TRUE(plan.ok() && fused->Plan(graph).ok());
  EXPECT_EQ(fused->Plan(graph)->kernels.size(), 1u);
  ASSERT_EQ(plan->kernels.size(), 2u);
  EXPECT_EQ(plan->kernels[0].signature, "layout(f32[6,9]) {transpose(i0) perm=[1, 0]} -> f32[9,6]");
  EXPECT_GT(*apart->MeasureMs(plan->kernels[0]), 0);
  EXPECT_EQ(plan->peak_bytes, 256);  // 9 x 6 floats, in whole lines of the cache
}

// A kernel reads its matrices and filters either packed or from their own place; the measurer takes
// both out of the caches.
TEST(Measure, EveryWeightIsPackedOrRead) {
  NodeTraitsCache traits;
  auto plan = cpu::PlanGraph(GraphWithWeights(R"(graph g(x: f32[1,6,8,8], w: weight f32[6,6,3,3],
      d: weight f32[6,1,3,3], m: weight f32[8,9], a: weight f32[1,6,8,9], i: i64[3],
      t: weight f32[9,40]) {
    c = conv2d(x, w) {pads = [1,1,1,1]}
    e = conv2d(c, d) {pads = [1,1,1,1], groups = 6}
    p = matmul(e, m)
    q = mul(p, a)
    r = gather(t, i) {axis = 0}
    return q, r
  })"),
                             traits, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  int weights = 0;
  for (const cpu::CpuStep& step : plan->steps) {
    cpu::StaticValues values(step.spec->inputs.size());
    int64_t bytes = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (step.static_inputs[i] < 0) continue;
      values[i] = plan->statics[step.static_inputs[i]].node().payload();
      bytes += values[i].type().num_bytes();
      ++weights;
    }
    auto kernel = step.spec->def->build(*step.spec, values);
    ASSERT_TRUE(kernel.ok()) << step.spec->Signature();
    int64_t read = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].empty_handle() && (*kernel)->NeedsStatic(static_cast<int>(i))) {
        read += values[i].type().num_bytes();
      }
    }
    for (absl::Span<const char> packed : (*kernel)->PackedWeights()) {
      EXPECT_NE(packed.data(), nullptr);
      read += static_cast<int64_t>(packed.size());
    }
    EXPECT_GE(read, bytes) << step.spec->Signature();
  }
  EXPECT_EQ(weights, 5);
}

TEST(Caches, MemoryKeepsItsContents) {
  std::vector<char> cold(100001), warm(70001);
  std::iota(cold.begin(), cold.end(), 0);
  std::iota(warm.begin(), warm.end(), 7);
  const std::vector<char> cold_before = cold, warm_before = warm;
  cpu::ArrangeCaches({absl::MakeConstSpan(cold).subspan(3), {}}, {warm, {}});
  EXPECT_EQ(cold, cold_before);
  EXPECT_EQ(warm, warm_before);
}

TEST(Stopwatch, RunsOn) {
  for (int threads : {1, 2}) {
    const Stopwatch stopwatch(threads);
    double last = stopwatch.Ms();
    EXPECT_GE(last, 0) << threads;
    for (int i = 0; i < 1000; ++i) {
      const double now = stopwatch.Ms();
      EXPECT_GE(now, last) << threads;
      last = now;
    }
  }
}

}  // namespace
}  // namespace lemma
