#include "optimizer/memory/rematerialization.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/barrier.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "optimizer/cost/analytic_cost.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/cuda/cuda_backend.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma::optimizer {
namespace {

// `layers` of a = tanh(x w), the gradient for dy = y, and plain gradient descent of all weights.
Graph Step(int layers, int rows = 64) {
  std::string text = absl::StrCat("graph step(x: f32[", rows, ",32], lr: f32[]");
  for (int i = 0; i < layers; ++i) absl::StrAppend(&text, ", w", i, ": f32[32,32]");
  absl::StrAppend(&text, ") {\n  one = constant f32[] [1.0]\n");
  for (int i = 0; i < layers; ++i) {
    const std::string x = i == 0 ? "x" : absl::StrCat("a", i - 1);
    absl::StrAppend(&text, "  z", i, " = matmul(", x, ", w", i, ")\n  a", i, " = tanh(z", i, ")\n");
  }
  std::string d = absl::StrCat("a", layers - 1), results;
  for (int i = layers; i-- > 0;) {
    const std::string n = absl::StrCat(i), x = i == 0 ? "x" : absl::StrCat("a", i - 1);
    absl::StrAppend(&text, "  s", n, " = mul(a", n, ", a", n, ")\n  t", n, " = sub(one, s", n,
                    ")\n  g", n, " = mul(", d, ", t", n, ")\n");
    absl::StrAppend(&text, "  x", n, " = transpose(", x, ") {perm = [1,0]}\n  d", n, " = matmul(x",
                    n, ", g", n, ")\n  l", n, " = mul(lr, d", n, ")\n  n", n, " = sub(w", n, ", l",
                    n, ")\n");
    absl::StrAppend(&text, "  v", n, " = transpose(w", n, ") {perm = [1,0]}\n  e", n, " = matmul(g",
                    n, ", v", n, ")\n");
    absl::StrAppend(&results, ", w", n, ".next = n", n);
    d = absl::StrCat("e", n);
  }
  absl::StrAppend(&text, "  loss = reduce_sum(a", layers - 1, ") {axes = [0,1]}\n  return loss",
                  results, "\n}");
  return GraphWithWeights(text);
}

class RematerializationTest : public testing::Test {
 protected:
  absl::StatusOr<Rematerialization> To(const Graph& graph, int64_t limit) {
    return Rematerialize(graph, limit, measurer_.get(), costs_.get());
  }
  int64_t PeakOf(const Graph& graph) { return measurer_->Plan(graph)->peak_bytes; }

  std::unique_ptr<KernelMeasurer> measurer_ = MakeCpuMeasurer(1);
  std::unique_ptr<CostModel> costs_ = MakeAnalyticCostModel();
};

void ExpectSameBits(const Graph& a, const Graph& b) {
  const std::vector<Tensor> inputs = RandomInputs(a);
  auto x = (*MakeCpuBackend()->Compile(a, {}))->Run(inputs);
  auto y = (*MakeCpuBackend()->Compile(b, {}))->Run(inputs);
  ASSERT_TRUE(x.ok() && y.ok());
  for (size_t i = 0; i < x->size(); ++i) EXPECT_TRUE((*x)[i].SameBytes((*y)[i])) << i;
}

TEST_F(RematerializationTest, KeepsToLimits) {
  const Graph graph = Step(16);
  const int64_t peak = PeakOf(graph);
  int before = 0;
  for (int percent : {80, 60, 50}) {
    auto less = To(graph, peak * percent / 100);
    ASSERT_TRUE(less.ok()) << less.status();
    EXPECT_LE(less->peak_bytes, peak * percent / 100) << percent << " %";
    EXPECT_EQ(less->peak_bytes, PeakOf(less->graph));
    EXPECT_GT(less->recomputed, before) << percent << " %";
    before = less->recomputed;
    EXPECT_EQ(WithoutBarriers(less->graph).StructuralHash(), graph.StructuralHash());
    ExpectSameBits(graph, less->graph);
  }
}

// On a device, values may also leave its memory, if that costs less.
TEST_F(RematerializationTest, OffloadsWhereTheDeviceHasItsOwnMemory) {
  const Graph graph = Step(16, 1024);
  auto measurer = MakeCudaMeasurer();
  const int64_t peak = measurer->Timeline(graph)->peak_bytes;
  for (int percent : {60, 40, 30}) {
    auto less = Rematerialize(graph, peak * percent / 100, measurer.get(), costs_.get());
    ASSERT_TRUE(less.ok()) << less.status();
    EXPECT_LE(less->peak_bytes, peak * percent / 100) << percent << " %";
    EXPECT_EQ(less->peak_bytes, measurer->Plan(less->graph)->peak_bytes);
    EXPECT_EQ(WithoutBarriers(less->graph).StructuralHash(), graph.StructuralHash());
    ExpectSameBits(graph, less->graph);
    EXPECT_GT(less->offloaded, 0) << percent << " %";
  }
}

// The kernel at the peak reads a view that an earlier kernel read too.
TEST_F(RematerializationTest, AViewThatWasReadBeforeHasNoReadersOfItsOwn) {
  const Graph graph =
      GraphWithWeights(R"(graph g(x: f32[256,256], w: f32[512,128], k: f32[128,2048]) {
    a = matmul(x, x)
    t = reshape(a) {shape = [128,512]}
    b = matmul(t, w)
    s = softmax(b) {axis = 1}
    p = matmul(w, s)
    c0 = matmul(p, k)
    c = softmax(c0) {axis = 1}
    d = matmul(t, c)
    e = reduce_sum(d) {axes = [0]}
    return e
  })");
  auto less = To(graph, PeakOf(graph) / 2);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LE(less->peak_bytes, PeakOf(graph));
}

TEST_F(RematerializationTest, WhatTheInputOffloadsIsItsOwn) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f32[64,64]) {
    a = tanh(x)
    h = offload(a)
    b = matmul(a, a)
    f = barrier(h, b)
    y = mul(f, b)
    return y
  })");
  auto less = To(graph, 2 * PeakOf(graph));
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_EQ(less->offloaded, 0);
  EXPECT_EQ(less->recomputed, 0);
}

// Concatenations, which several kernels write, wait for a second use.
TEST_F(RematerializationTest, DropsConcatenations) {
  constexpr int kBlocks = 10;
  std::string text = "graph g(x: f32[64,32], w: f32[32,16], u: f32[32,16], v: f32[32,32]) {\n";
  std::string last = "x";
  for (int i = 0; i < kBlocks; ++i) {
    absl::StrAppend(&text, "  p", i, " = matmul(", last, ", w)\n  a", i, " = tanh(p", i, ")\n");
    absl::StrAppend(&text, "  q", i, " = matmul(", last, ", u)\n  b", i, " = sin(q", i, ")\n");
    absl::StrAppend(&text, "  c", i, " = concat(a", i, ", b", i, ") {axis = 1}\n");
    last = absl::StrCat("c", i);
  }
  for (int i = kBlocks; i-- > 0;) {
    absl::StrAppend(&text, "  s", i, " = sub(", last, ", c", i, ")\n  e", i, " = matmul(s", i,
                    ", v)\n");
    last = absl::StrCat("e", i);
  }
  const Graph graph = GraphWithWeights(absl::StrCat(text, "  return ", last, "\n}"));
  const int64_t limit = PeakOf(graph) * 60 / 100;
  auto less = To(graph, limit);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LE(less->peak_bytes, limit);
  EXPECT_EQ(WithoutBarriers(less->graph).StructuralHash(), graph.StructuralHash());
  ExpectSameBits(graph, less->graph);
}

// `a` is read three times; in between, `layers` times, three values of its size are needed at once.
Graph ReadBetweenPeaks() {
  std::string text =
      "graph g(u: f32[128,4], v: f32[4,128], s: f32[]) {\n  a = matmul(u, v)\n"
      "  r0 = mul(a, s)\n  s0 = reduce_sum(r0) {axes = [0,1]}\n";
  for (int i = 0; i < 2; ++i) {
    const std::string n = absl::StrCat(i), next = absl::StrCat(i + 1);
    absl::StrAppend(&text, "  u", n, " = mul(u, s", n, ")\n  m", n, " = matmul(u", n, ", v)\n",
                    "  w", n, " = sin(u", n, ")\n  p", n, " = matmul(w", n, ", v)\n  q", n,
                    " = matmul(m", n, ", p", n, ")\n  z", n, " = reduce_max(q", n,
                    ") {axes = [0,1]}\n  r", next, " = mul(a, z", n, ")\n  s", next,
                    " = reduce_sum(r", next, ") {axes = [0,1]}\n");
  }
  return GraphWithWeights(absl::StrCat(text, "  return s2\n}"));
}

TEST_F(RematerializationTest, AThirdCopyReachesWhatASecondCannot) {
  const Graph graph = ReadBetweenPeaks();
  const int64_t value = 128 * 128 * 4, peak = PeakOf(graph);
  auto less = To(graph, peak - value);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LE(less->peak_bytes, peak - value) << PrintGraph(less->graph);
  EXPECT_EQ(less->recomputed, 2) << "a, twice: " << PrintGraph(less->graph);
  EXPECT_EQ(WithoutBarriers(less->graph).StructuralHash(), graph.StructuralHash());
  ExpectSameBits(graph, less->graph);
}

// One kernel reads four values at once. It could compute two of them itself, `t` and `u`, which
// others read too. Computing the other two again would take too many kernels.
TEST_F(RematerializationTest, LeavesToReadersWhatTheyCanCompute) {
  std::string text = "graph g(d0: f32[128,128], x0: f32[128,128], w: f32[128,128]) {\n";
  for (const char* name : {"d", "x"}) {
    for (int i = 0; i < 14; ++i) {
      absl::StrAppend(&text, "  ", name, i + 1, " = matmul(", name, i, ", w)\n");
    }
  }
  const Graph graph = GraphWithWeights(absl::StrCat(text, R"(
    c = constant f32[] [1.5]
    t = div(x14, c)
    e = erf(t)
    u = add(e, c)
    k = mul(d14, u)
    l = mul(k, x14)
    m = mul(l, t)
    n = mul(x14, u)
    q = matmul(m, n)
    return q
  })"));
  const int64_t value = 128 * 128 * 4;
  EXPECT_EQ(PeakOf(graph), 4 * value);
  auto less = To(graph, 3 * value + value / 8);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LE(less->peak_bytes, 3 * value + value / 8) << PrintGraph(less->graph);
  ExpectSameBits(graph, less->graph);
}

// The small value is dropped first, since that costs least, and then the large one, which would
// suffice alone.
TEST_F(RematerializationTest, UndoesWhatIsNotNeeded) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f32[64,64], y: f32[256,256], w: f32[512,512]) {
    a = sin(x)
    b0 = sin(y)
    b = cos(b0)
    k = reduce_sum(a) {axes = [0,1]}
    l = reduce_sum(b) {axes = [0,1]}
    o = mul(k, l)
    m = mul(w, o)
    n = matmul(m, m)
    s = reduce_sum(n) {axes = [0,1]}
    c = mul(a, s)
    d = mul(b, s)
    e = matmul(a, c)
    f = matmul(b, d)
    return e, f
  })");
  auto less = To(graph, PeakOf(graph) - 256 * 256 * 4);
  ASSERT_TRUE(less.ok()) << less.status();
  EXPECT_LE(less->peak_bytes, PeakOf(graph) - 256 * 256 * 4);
  for (const NodePtr& node : less->graph.nodes()) {
    if (!node->is_op() || node->op().name != "barrier") continue;
    EXPECT_EQ(node->types()[0].shape, Shape({256, 256})) << PrintGraph(less->graph);
  }
  EXPECT_GT(less->recomputed, 0);
}

TEST_F(RematerializationTest, LeavesAloneWhatKeepsToTheLimit) {
  const Graph graph = Step(4);
  auto same = To(graph, PeakOf(graph));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->recomputed, 0);
  EXPECT_EQ(same->graph.StructuralHash(), graph.StructuralHash());
}

TEST_F(RematerializationTest, DoesWhatItCanWhereALimitIsOutOfReach) {
  const Graph graph = Step(8);
  auto least = To(graph, 1000);  // less than one value takes
  ASSERT_TRUE(least.ok());
  EXPECT_LT(least->peak_bytes, PeakOf(graph));
  EXPECT_GT(least->peak_bytes, 1000);
  ExpectSameBits(graph, least->graph);
}

TEST_F(RematerializationTest, IsDeterministicAndMayBeInterrupted) {
  const Graph graph = Step(12);
  const int64_t limit = PeakOf(graph) / 2;
  EXPECT_EQ(To(graph, limit)->graph.StructuralHash(), To(graph, limit)->graph.StructuralHash());
  int calls = 0;
  auto first = Rematerialize(graph, limit, measurer_.get(), costs_.get(), [&](int64_t) {
    ++calls;
    return false;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_LT(first->peak_bytes, PeakOf(graph));
}

TEST_F(RematerializationTest, TheTextFormKeepsBarriers) {
  const Graph graph = Step(8);
  auto less = To(graph, PeakOf(graph) / 2);
  PrintOptions options;
  options.elide = false;
  auto again = ParseGraph(PrintGraph(less->graph, options));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->StructuralHash(), less->graph.StructuralHash());
}

}  // namespace
}  // namespace lemma::optimizer
