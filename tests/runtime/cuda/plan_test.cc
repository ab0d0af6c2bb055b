// Plans of the CUDA back end: which kernels they have, and that these, emulated, give the
// reference's results.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/cuda/cuda_backend.h"
#include "tests/runtime/cuda/emulated_plans.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

struct Case {
  const char* schedules;  // of the launches, joined by "; "
  const char* text;
};

const Case kCases[] = {
    // Contiguous memory in packs of 16 bytes, and its borders.
    {"by element x4", R"(graph chain(x: f32[64,260], y: f32[64,260]) {
      a = add(x, y)
      b = tanh(a)
      c = mul(b, x)
      return c
    })"},
    {"by element", R"(graph odd(x: f32[61,273]) { a = tanh(x) b = mul(a, x) return b })"},
    {"by element x8", R"(graph half(x: f16[64,512], y: f16[512]) { a = add(x, y) return a })"},
    {"by element x8", R"(graph brain(x: bf16[64,512]) { a = mul(x, x) b = sigmoid(a) return b })"},
    {"by element x4", R"(graph bias(x: f32[2,8,32,36], b: f32[8,1,1]) {
      a = add(x, b)
      r = relu(a)
      return r
    })"},
    {"by element", R"(graph layout(x: f32[5,7,3]) {
      t = transpose(x) {perm = [2,0,1]}
      r = reshape(t) {shape = [15,7]}
      p = pad(r) {pads = [1,0,2,3]}
      n = neg(p)
      return n
    })"},
    {"by element", R"(graph joined(x: f32[3,5], y: f32[4,5]) {
      a = relu(x)
      c = concat(a, y) {axis = 0}
      s = slice(c) {starts = [1,1], sizes = [5,3]}
      return s
    })"},
    // Rows.
    {"by row of 32", R"(graph soft(x: f32[37,65]) { s = softmax(x) return s })"},
    {"by row of 256", R"(graph long(x: f32[5,2051]) { s = softmax(x) return s })"},
    {"by row of 32", R"(graph mean(x: f32[3,5,7,7]) {
      m = reduce_mean(x) {axes = [2,3]}
      r = relu(m)
      return r
    })"},
    {"by row of 256", R"(graph all(x: f32[40,100]) { s = reduce_sum(x) {axes = [0,1]} return s })"},
    {"by row of 256", R"(graph norm(x: f32[9,1100], g: weight f32[1100], b: weight f32[1100]) {
      n = layer_norm(x, g, b) {axis = -1}
      return n
    })"},
    {"by row of 32", R"(graph small_norm(x: f32[9,100], g: weight f32[100]) {
      m = reduce_mean(x) {axes = [1], keepdims = 1}
      d = sub(x, m)
      s = mul(d, d)
      v = reduce_mean(s) {axes = [1], keepdims = 1}
      q = add(v, v)
      n = div(d, q)
      y = mul(n, g)
      return y
    })"},
    // Tiles.
    {"by tile", R"(graph product(x: f32[37,65], w: weight f32[65,43]) {
      p = matmul(x, w)
      return p
    })"},
    {"by tile",
     R"(graph layer(x: f32[3,37,65], w: weight f32[65,43], b: weight f32[43], r: f32[3,37,43]) {
      p = matmul(x, w)
      q = add(p, b)
      s = add(q, r)
      t = relu(s)
      return t
    })"},
    {"by tile", R"(graph large(x: f32[700,33], w: weight f32[33,840]) {
      p = matmul(x, w)
      return p
    })"},
    {"by tile", R"(graph larger(x: f32[1500,9], w: weight f32[9,1450]) {
      p = matmul(x, w)
      return p
    })"},
    {"by tile", R"(graph scores(q: f32[2,3,17,16], k: f32[2,3,19,16]) {
      t = transpose(k) {perm = [0,1,3,2]}
      s = matmul(q, t)
      return s
    })"},
    {"by tile",
     R"(graph conv(x: f32[2,5,13,11], w: weight f32[9,5,3,3], b: weight f32[9]) {
      c = conv2d(x, w, b) {pads = [1,1,1,1], strides = [2,1]}
      r = relu(c)
      return r
    })"},
    {"by tile", R"(graph grouped(x: f32[2,16,9,9], w: weight f32[32,8,3,3]) {
      c = conv2d(x, w) {pads = [2,2,2,2], dilations = [2,2], groups = 2}
      return c
    })"},
    // A kernel for each phase of the stride.
    {"by tile; by tile; by tile; by tile",
     R"(graph upward(x: f32[2,8,9,7], w: weight f32[8,12,4,4]) {
      c = conv_transpose2d(x, w) {pads = [1,1,1,1], strides = [2,2]}
      return c
    })"},
    // Only one of its four phases has terms.
    {"by tile; by element; by element; by element",
     R"(graph every_second(x: f32[2,16,9,7], w: weight f32[16,12,1,1]) {
      c = conv_transpose2d(x, w) {strides = [2,2], output_padding = [1,1]}
      return c
    })"},
    // Its phases have 1, 2, 2 and 4 of the nine products.
    {"by tile; by tile; by tile; by tile",
     R"(graph backwards(x: f32[2,16,9,7], w: weight f32[16,12,3,3], r: f32[2,12,18,14]) {
      c = conv_transpose2d(x, w) {pads = [1,1,1,1], strides = [2,2], output_padding = [1,1]}
      s = add(c, r)
      t = relu(s)
      return t
    })"},
    {"by tile; by tile; by tile",
     R"(graph by_three(x: f32[3,9,11,10], w: weight f32[9,12,4,3]) {
      c = conv_transpose2d(x, w) {pads = [1,1,0,1], strides = [3,1], dilations = [1,2]}
      return c
    })"},
    {"by element", R"(graph depthwise(x: f32[1,8,12,12], w: weight f32[8,1,3,3]) {
      c = conv2d(x, w) {pads = [1,1,1,1], groups = 8}
      r = relu(c)
      return r
    })"},
    // One of the two products is fused with the sum; the other one has a kernel of its own.
    {"by tile; by tile",
     R"(graph two(x: f32[33,20], v: weight f32[20,35], w: weight f32[20,35]) {
      p = matmul(x, v)
      q = matmul(x, w)
      s = add(p, q)
      return s
    })"},
    // An operator that follows a product is its epilogue, not part of another product's factor.
    {"by tile; by tile",
     R"(graph heads(x: f32[24,32], v: f32[32,48], b: f32[48], k: f32[3,24,16]) {
      p = matmul(x, v)
      q = add(p, b)
      r = reshape(q) {shape = [24,3,16]}
      t = transpose(r) {perm = [1,2,0]}
      s = matmul(k, t)
      return s
    })"},
    // Few blocks would compute these reductions, so they are done in parts.
    {"by tile; by element", R"(graph deep(x: f32[17,4100], w: weight f32[4100,19]) {
      p = matmul(x, w)
      r = relu(p)
      return r
    })"},
    {"by row of 256; by row of 32", R"(graph total(x: f32[211,1003]) {
      m = reduce_max(x) {axes = [0,1]}
      n = neg(m)
      return n
    })"},
    // Integers and data-dependent indices.
    {"by element", R"(graph ints(x: i64[7,5], y: i32[7,5]) {
      a = cast(y) {dtype = "i64"}
      b = add(x, a)
      c = mul(b, b)
      return c
    })"},
    {"by element", R"(graph looked_up(table: f32[11,6], i: i64[4,3]) {
      g = gather(table, i)
      r = relu(g)
      return r
    })"},
};

class CudaPlanCases : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    plans_ = new EmulatedPlans;
    for (const Case& c : kCases) {
      const absl::Status added = plans_->Add(GraphWithWeights(c.text));
      ASSERT_TRUE(added.ok()) << added << c.text;
    }
    const absl::Status compiled = plans_->Compile();
    ASSERT_TRUE(compiled.ok()) << compiled;
  }
  static EmulatedPlans* plans_;
};
EmulatedPlans* CudaPlanCases::plans_ = nullptr;

TEST_F(CudaPlanCases, HaveTheirKernels) {
  for (size_t i = 0; i < plans_->size(); ++i) {
    std::vector<std::string> schedules;
    for (const cuda::Launch& launch : plans_->plan(i).launches) {
      // The model of their times chooses tiles: tile_test has each of them.
      const codegen::GridKernel& kernel = plans_->plan(i).KernelOf(launch);
      schedules.push_back(kernel.tile ? "by tile" : kernel.schedule);
    }
    EXPECT_EQ(absl::StrJoin(schedules, "; "), kCases[i].schedules)
        << plans_->plan(i).Describe(plans_->graph(i));
  }
}

TEST_F(CudaPlanCases, MatchReference) {
  for (size_t i = 0; i < plans_->size(); ++i) plans_->ExpectMatchesReference(i);
}

// The end of a training step: new momenta, and parameters that need them.
constexpr char kUpdates[] =
    R"(graph updates(x: f32[6,5], a: f32[5,4], b: f32[4], c: f32[4], va: f32[5,4], vb: f32[4],
                     big: f32[300,300]) {
      p = matmul(x, a)
      r = relu(b)
      ma = add(va, a)
      mb = sub(vb, b)
      na = mul(ma, a)
      nb = mul(mb, b)
      nc = add(c, r)
      q = add(p, r)
      large = relu(big)
      return q, ma, mb, na, nb, nc, large
    })";

TEST(CudaPlan, SmallStepsAreFusedHorizontally) {
  EmulatedPlans plans;
  const Graph graph = GraphWithWeights(kUpdates);
  ASSERT_TRUE(plans.Add(graph).ok());
  ASSERT_TRUE(plans.Add(graph, {{}, /*horizontal_fusion=*/false}).ok());
  std::vector<std::string> last;
  for (const cuda::Launch& launch : plans.plan(0).launches) {
    last.push_back(plans.plan(0).steps[launch.step].operators);
  }
  EXPECT_THAT(last,
              testing::ElementsAre("relu", "1 add, 1 relu, 1 sub", "1 add, 1 matmul+add, 2 mul"))
      << plans.plan(0).Describe(graph);
  EXPECT_EQ(plans.plan(1).launches.size(), 8u);
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t i = 0; i < plans.size(); ++i) plans.ExpectMatchesReference(i);
}

TEST(CudaPlan, ManySmallStepsAreSeveralLaunches) {
  std::string text = "graph many(x: f32[3]";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&text, ", p", i, ": f32[", 3 + i % 2, "]");
  absl::StrAppend(&text, ") {\n");
  std::string results;
  for (int i = 0; i < 200; ++i) {
    absl::StrAppend(&text, "y", i, " = mul(p", i, ", p", i, ")\n");
    absl::StrAppend(&results, i > 0 ? ", " : "", "y", i);
  }
  const Graph graph = GraphWithWeights(absl::StrCat(text, "return ", results, " }"));
  EmulatedPlans plans;
  ASSERT_TRUE(plans.Add(graph).ok());
  EXPECT_EQ(plans.plan(0).launches.size(), 2u) << plans.plan(0).Describe(graph);
  ASSERT_TRUE(plans.Compile().ok());
  plans.ExpectMatchesReference(0);
}

// A step that has too many operands to be launched together with others.
TEST(CudaPlan, StepOfManyOperandsIsALaunchOfItsOwn) {
  std::string text = "graph wide(y: f32[3]", parts;
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, ", p", i, ": f32[3]");
    absl::StrAppend(&parts, i > 0 ? ", p" : "p", i);
  }
  const Graph graph = GraphWithWeights(
      absl::StrCat(text, ") {\nz = neg(y)\nc = concat(", parts, ") {axis = 0}\nreturn c, z }"));
  EmulatedPlans plans;
  ASSERT_TRUE(plans.Add(graph).ok());
  for (const cuda::CudaStep& step : plans.plan(0).steps) EXPECT_FALSE(step.nodes.empty());
  EXPECT_EQ(plans.plan(0).launches.size(), 2u);
  ASSERT_TRUE(plans.Compile().ok());
  plans.ExpectMatchesReference(0);
}

// The first part of a sum starts where the sum does, but is not the sum.
TEST(CudaPlan, PartsOfASumAreResultsOfTheirOwn) {
  EmulatedPlans plans;
  const Graph graph = GraphWithWeights(R"(graph parts(x: f32[2,6,4], y: f32[2,6,4]) {
    s = add(x, y)
    a, b, c = split(s) {axis = 1, sizes = [3,2,1]}
    return a, b, c
  })");
  ASSERT_TRUE(plans.Add(graph).ok());
  ASSERT_TRUE(plans.Compile().ok());
  plans.ExpectMatchesReference(0);
}

TEST(CudaPlan, ResultsAreNotCopiedFromWhatComputesThem) {
  EmulatedPlans plans;
  const Graph graph = GraphWithWeights(R"(graph norm(x: f32[2,3,4,5], s: f32[3], b: f32[3]) {
    y, m, v = batch_norm_training(x, s, b)
    return y, m, v
  })");
  ASSERT_TRUE(plans.Add(graph).ok());
  EXPECT_EQ(plans.plan(0).launches.size(), 3u) << plans.plan(0).Describe(graph);
  ASSERT_TRUE(plans.Compile().ok());
  plans.ExpectMatchesReference(0);
}

// Phases of a result run side by side, but not before the launches that read the memory they write.
TEST(CudaPlan, PhasesWaitForReadersOfTheirMemory) {
  EmulatedPlans plans;
  const Graph graph = GraphWithWeights(R"(graph chain(x: f32[2,16,9,7], w: weight f32[16,16,3,3],
                                             v: weight f32[16,16,2,2]) {
    a = conv_transpose2d(x, w) {pads = [1,1,1,1], strides = [2,2], output_padding = [1,1]}
    b = conv2d(a, v) {strides = [2,2]}
    c = conv_transpose2d(b, w) {pads = [1,1,1,1], strides = [2,2], output_padding = [1,1]}
    d = conv2d(c, v) {strides = [2,2]}
    e = conv_transpose2d(d, w) {pads = [1,1,1,1], strides = [2,2], output_padding = [1,1]}
    return e
  })");
  ASSERT_TRUE(plans.Add(graph).ok());
  ASSERT_TRUE(plans.Compile().ok());
  const cuda::CudaPlan& plan = plans.plan(0);
  ASSERT_EQ(plan.launches.size(), 14u) << plan.Describe(graph);
  // c takes the memory of x or a: each of its phases waits for b, which reads a.
  for (int l : {5, 6, 7, 8}) EXPECT_FALSE(plan.launches[l].after.empty()) << plan.Describe(graph);
  for (uint64_t seed = 1; seed <= 20; ++seed) plans.ExpectMatchesReference(0, seed);
}

TEST(CudaPlan, IndexOutsideIsAnError) {
  EmulatedPlans plans;
  const Graph graph =
      GraphWithWeights("graph g(t: f32[3,2], i: i64[2]) { y = gather(t, i) return y }");
  ASSERT_TRUE(plans.Add(graph).ok());
  ASSERT_TRUE(plans.Compile().ok());
  const Tensor table = RandomInputs(graph)[0];
  EXPECT_TRUE(plans.Run(0, {table, Tensor::Ints({2, -1})}, 1).ok());
  EXPECT_TRUE(absl::IsOutOfRange(plans.Run(0, {table, Tensor::Ints({1, 3})}, 1).status()));
}

// Operators in front of a gather whose own definition reads nothing outside their operands, so that
// it would hide an index outside their results.
TEST(CudaPlan, IndexOutsideIsAnErrorBehindFusedOperators) {
  constexpr const char* kTables[] = {
      "t = pad(x) {pads = [1,0,1,0]}",
      "t = pad(x) {pads = [0,1,0,1]}",
      "t = concat(x, x) {axis = 0}",
      "t = slice(x) {starts = [1,0], sizes = [4,4], steps = [1,1]}",
      "t = cumsum(x) {axis = 0}",
      "r = reshape(x) {shape = [4,6]} t = neg(r)",
      "r = reshape(x) {shape = [3,8]} t = relu(r)",
      "p = pad(x) {pads = [2,0,2,0]} t = relu(p)",
      "p = pad(x) {pads = [2,0,2,0]} q = transpose(p) {perm = [1,0]} r = transpose(q) {perm = "
      "[1,0]} "
      "t = neg(r)",
      "t = neg(x)",
      "c = constant f32[4] fill 2.0 t = mul(x, c)",
      "t = transpose(x) {perm = [1,0]}",
  };
  EmulatedPlans plans;
  for (const char* table : kTables) {
    const std::string text = absl::StrCat("graph g(x: f32[6,4], i: i64[3]) { ", table,
                                          " y = gather(t, i) {axis = 0} return y }");
    ASSERT_TRUE(plans.Add(GraphWithWeights(text.c_str())).ok()) << text;
  }
  ASSERT_TRUE(plans.Compile().ok());
  for (size_t p = 0; p < plans.size(); ++p) {
    SCOPED_TRACE(kTables[p]);
    const Tensor x = RandomInputs(plans.graph(p))[0];
    EXPECT_TRUE(plans.Run(p, {x, Tensor::Ints({0, 2, -1})}, 1).ok());
    for (int64_t outside : {12, 13, 40, 1000000, -13, -100}) {
      const auto result = plans.Run(p, {x, Tensor::Ints({0, outside, 1})}, 1);
      EXPECT_TRUE(absl::IsOutOfRange(result.status())) << outside << ": " << result.status();
    }
  }
}

TEST(CudaPlan, ReshapesAreTheirOperandsMemory) {
  NodeTraitsCache traits;
  const Graph graph =
      GraphWithWeights(R"(graph g(x: f32[6,8], w: weight f32[8,8], v: weight f32[16,8]) {
    p = matmul(x, w)
    r = reshape(p) {shape = [3,16]}
    q = matmul(r, v)
    s = reshape(q) {shape = [24]}
    return p, s
  })");
  auto plan = cuda::PlanGraph(graph, traits);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->launches.size(), 2u) << plan->Describe(graph);
}

TEST(CudaPlan, BiasStaysWithItsProduct) {
  NodeTraitsCache traits;
  const Graph graph =
      GraphWithWeights(R"(graph g(x: f32[64,64], u: f32[64,64], b: f32[64], v: f32[64,64]) {
    p = matmul(x, u)
    q = add(p, b)
    r = matmul(q, v)
    return r
  })");
  auto plan = cuda::PlanGraph(graph, traits);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->launches.size(), 2u) << plan->Describe(graph);
  for (const cuda::Launch& launch : plan->launches) {
    EXPECT_TRUE(plan->KernelOf(launch).gemm.has_value()) << plan->Describe(graph);
  }
  EXPECT_GE(plan->KernelOf(plan->launches[0]).gemm->bias_argument, 0);
}

// Launches of one branch do not wait for another branch.
TEST(CudaPlan, OrderIsThatOfTheData) {
  NodeTraitsCache traits;
  const Graph graph =
      GraphWithWeights(R"(graph g(x: f32[64,64], u: weight f32[64,64], v: weight f32[64,64]) {
    p = matmul(x, u)
    q = matmul(x, v)
    r = matmul(p, q)
    return p, q, r
  })");
  auto plan = cuda::PlanGraph(graph, traits);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ASSERT_EQ(plan->launches.size(), 3u);
  EXPECT_THAT(plan->launches[0].after, testing::IsEmpty());
  EXPECT_THAT(plan->launches[1].after, testing::IsEmpty());
  EXPECT_THAT(plan->launches[2].after, testing::ElementsAre(0, 1));
}

// Two branches: q's values take the memory of p's, unless that is used again late.
TEST(CudaPlan, BranchesDoNotWaitForEachOthersMemory) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f32[64,64], w: weight f32[64,64]) {
    p1 = matmul(x, w)  p2 = matmul(p1, w)  p3 = matmul(p2, w)
    q1 = matmul(w, x)  q2 = matmul(w, q1)  q3 = matmul(w, q2)
    return p3, q3
  })");
  const auto plan = [&](bool late) {
    NodeTraitsCache traits;
    cuda::PlanOptions options;
    options.reuse_late = late;
    return *cuda::PlanGraph(graph, traits, options);
  };
  const cuda::CudaPlan soon = plan(false), late = plan(true);
  ASSERT_EQ(late.launches.size(), 6u) << late.Describe(graph);
  EXPECT_THAT(soon.launches[3].after, testing::Not(testing::IsEmpty())) << soon.Describe(graph);
  EXPECT_THAT(late.launches[3].after, testing::IsEmpty()) << late.Describe(graph);
  EXPECT_GT(late.memory.planned_bytes, soon.memory.planned_bytes);
  EXPECT_EQ(late.memory.live_bytes, soon.memory.live_bytes);
}

// Values of 16 MB, in two branches or in one. Late reuse takes 32 MB more if that helps, and no
// more.
TEST(CudaPlan, LateReuseTakesLittleMemory) {
  for (int branches : {1, 2}) {
    std::string text = "graph g(x: f32[2048,2048], w: weight f32[2048,2048]) {";
    for (int b = 0; b < branches; ++b) {
      absl::StrAppend(&text, " v", b, "_0 = matmul", b == 0 ? "(x, w)" : "(w, x)");
      for (int i = 1; i < 6; ++i) {
        absl::StrAppend(&text, " v", b, "_", i, " = matmul(v", b, "_", i - 1, ", w)");
      }
    }
    absl::StrAppend(&text, branches == 1 ? " return v0_5 }" : " return v0_5, v1_5 }");
    const Graph graph = GraphWithWeights(text);
    int64_t bytes[2];
    for (bool late : {false, true}) {
      NodeTraitsCache traits;
      cuda::PlanOptions options;
      options.reuse_late = late;
      auto plan = cuda::PlanGraph(graph, traits, options);
      ASSERT_TRUE(plan.ok()) << plan.status();
      bytes[late] = plan->memory.planned_bytes;
    }
    EXPECT_LE(bytes[1], bytes[0] + (int64_t{32} << 20));
    EXPECT_EQ(bytes[1] > bytes[0], branches == 2);
  }
}

TEST(CudaBackend, PlansWithoutADevice) {
  const Graph graph = GraphWithWeights(kTwoLayers);
  auto plan = MakeCudaBackend()->Plan(graph, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->kernels, 2);
  EXPECT_GT(plan->memory.planned_bytes, 0);
  EXPECT_GE(plan->memory.planned_bytes, plan->memory.live_bytes);
}

TEST(CudaBackend, SaysThatThereIsNoDevice) {
  auto executable = MakeCudaBackend()->Compile(GraphWithWeights(kTwoLayers), {});
  if (executable.ok()) GTEST_SKIP() << "there is one";
  EXPECT_TRUE(absl::IsFailedPrecondition(executable.status())) << executable.status();
  EXPECT_EQ(executable.status().message().substr(0, 15), "no CUDA device:");
}

}  // namespace
}  // namespace lemma
