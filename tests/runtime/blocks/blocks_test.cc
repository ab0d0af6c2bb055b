// Large values that are computed in blocks: the results are the same, to the last bit if no sum is
// divided, and what must not be divided stays whole.
#include "runtime/cpu/blocks/blocks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/substitute.h"
#include "graph/barrier.h"
#include "graph/builder.h"
#include "graph/examples/random_graph.h"
#include "graph/grad/gradient.h"
#include "gtest/gtest.h"
#include "runtime/cpu/blocks/block_check.h"
#include "runtime/cpu/blocks/carried_dims.h"
#include "runtime/cpu/blocks/moved_dims.h"
#include "tests/runtime/blocks/blocks_testutil.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

cpu::BlockOptions Small() {
  cpu::BlockOptions options;
  options.large_bytes = 500;
  options.block_bytes = 200;
  return options;
}

Graph GradientOf(const std::string& text, const std::vector<std::string>& names) {
  absl::StatusOr<Graph> gradient = GradientGraph(GraphWithWeights(text), 0, names);
  EXPECT_TRUE(gradient.ok()) << gradient.status() << text;
  return *gradient;
}

bool HasBarrier(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const NodePtr& n) { return IsBarrier(*n); });
}

// The graph's first result y and the gradients of sum(y²) / 2 by all inputs of floats, which depend
// on y; nullopt if there is no gradient.
std::optional<Graph> StepOf(const Graph& graph) {
  GraphBuilder builder("step");
  std::vector<Value> parameters;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const Value& x = graph.inputs()[i];
    builder.Input(graph.input_names()[i], x.type());
    if (x.dtype() == DType::kF32) parameters.push_back(x);
  }
  const Value& y = graph.outputs()[0];
  absl::StatusOr<std::vector<Value>> gradients = Gradient({y}, {y}, parameters);
  if (!gradients.ok()) return std::nullopt;
  builder.Output("y", y);
  for (size_t i = 0; i < gradients->size(); ++i) {
    if ((*gradients)[i]) builder.Output(absl::StrCat("d", i), (*gradients)[i]);
  }
  absl::StatusOr<Graph> step = std::move(builder).Build();
  EXPECT_TRUE(step.ok()) << step.status();
  return *std::move(step);
}

// Forward pass and gradient in one graph, as in a step of training: the gradient of sum(y²).
Graph StepOf(const std::string& text, const std::vector<std::string>& names) {
  const std::string loss = "squares = mul(y, y) loss = reduce_sum(squares) {axes = [0,1,2,3]} ";
  return GradientOf(absl::StrReplaceAll(text, {{"return y", absl::StrCat(loss, "return loss")}}),
                    names);
}

// $0 stands between the scores `s`, and `p`, which is multiplied with the values.
constexpr char kAttention[] = R"(graph g(q: f32[2,3,10,4], k: f32[2,3,12,4], v: f32[2,3,12,4],
    m: f32[2,1,10,12], b: f32[3,10,12], c: f32[10,12]) {
  t = transpose(k) {perm = [0,1,3,2]} s = matmul(q, t) $0 y = matmul(p, v) return y })";

constexpr const char* kMiddles[] = {
    "p = softmax(s) {axis = -1}",
    "a = scalar_mul(s) {alpha = 0.25} p = softmax(a) {axis = 3}",
    "a = add(s, m) p = softmax(a) {axis = -1}",
    "a = add(s, b) d = tanh(a) e = add(d, m) p = softmax(e) {axis = -1}",
    "z = constant f32[] fill 0.0 l = less(c, z) n = constant f32[] fill -1e30 a = where(l, n, s) "
    "p = softmax(a) {axis = -1}",
    "x = reduce_max(s) {axes = [3], keepdims = 1} d = sub(s, x) e = exp(d) "
    "u = reduce_sum(e) {axes = [3], keepdims = 1} p = div(e, u)",
    "l = log_softmax(s) {axis = -1} p = exp(l)",
};

TEST(Blocks, AttentionIsComputedInBlocks) {
  for (const char* middle : kMiddles) {
    const Graph graph = GraphWithWeights(absl::Substitute(kAttention, middle));
    const Graph blocked = Blocked(graph, Small());
    EXPECT_EQ(LargestValue(graph), 2 * 3 * 10 * 12 * 4) << middle;
    EXPECT_LE(LargestValue(blocked), 1200) << middle;
    ExpectSame(graph, blocked, RandomInputs(graph));
  }
}

TEST(Blocks, ThePlanTakesThem) {
  const Graph graph =
      GraphWithWeights(R"(graph g(q: f32[8,700,8], k: f32[8,650,8], v: f32[8,650,8]) {
    t = transpose(k) {perm = [0,2,1]} s = matmul(q, t) p = softmax(s) {axis = -1}
    y = matmul(p, v) return y })");
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto executable = ExpectCpuMatchesReference(graph, inputs);
  ASSERT_NE(executable, nullptr);
  std::vector<KernelTiming> timings;
  ASSERT_TRUE(executable->RunTimed(inputs, &timings).ok());
  EXPECT_GT(timings.size(), 8u);
}

TEST(Blocks, WhatReadsMoreThanItsOwnBlockStaysWhole) {
  const char* const graphs[] = {
      // A softmax along each dimension.
      R"(graph g(q: f32[1,20,4], k: f32[1,4,20], v: f32[1,20,4]) {
        s = matmul(q, k) a = softmax(s) {axis = 2} p = softmax(a) {axis = 1} y = matmul(p, v)
        return y })",
      // The probabilities are an output.
      R"(graph g(q: f32[1,20,4], k: f32[1,4,20]) {
        s = matmul(q, k) p = softmax(s) {axis = 2} r = cumsum(p) {axis = 1} y = matmul(r, q)
        return y })",
      // An instance normalization would divide the weights of the convolution before it.
      R"(graph g(x: f32[1,4,9,9], w: weight f32[16,4,3,3]) {
        c = conv2d(x, w) m = reduce_mean(c) {axes = [2,3], keepdims = 1} y = sub(c, m)
        z = relu(y) return z })",
      // Each row's maximum is subtracted from a column, not from its row.
      R"(graph g(x: f32[20,20]) {
        r = relu(x) m = reduce_max(r) {axes = [1]} y = sub(r, m) z = relu(y) return z })",
      // Products alone gain nothing.
      R"(graph g(x: f32[20,4], u: f32[4,30], w: f32[30,4]) {
        h = matmul(x, u) g = gelu(h) y = matmul(g, w) return y })",
  };
  for (const char* text : graphs) {
    const Graph graph = GraphWithWeights(text);
    EXPECT_EQ(Blocked(graph, Small()).StructuralHash(), graph.StructuralHash()) << text;
  }
  // The same normalization of a value that no product makes.
  const Graph norm = GraphWithWeights(R"(graph g(x: f32[1,16,9,9]) {
    c = relu(x) m = reduce_mean(c) {axes = [2,3], keepdims = 1} y = sub(c, m) return y })");
  EXPECT_NE(Blocked(norm, Small()).StructuralHash(), norm.StructuralHash());
}

TEST(Blocks, CarriedDimensionsAreReadOffDefinitions) {
  auto of_last = [](const std::string& text) {
    return cpu::CarriedDimsOf(GraphWithWeights(text).outputs()[0].node());
  };
  EXPECT_EQ(of_last("graph g(x: f32[2,3,4]) { y = softmax(x) {axis = 1} return y }"),
            (cpu::CarriedDims{{0}, {}, {2}}));
  EXPECT_EQ(of_last("graph g(x: f32[2,3,4], z: f32[2,4,5]) { y = matmul(x, z) return y }"),
            (cpu::CarriedDims{{0, 0}, {1, -1}, {-1, 2}}));
  EXPECT_EQ(of_last("graph g(x: f32[2,3]) { y = transpose(x) {perm = [1,0]} return y }"),
            (cpu::CarriedDims{{1}, {0}}));
  EXPECT_EQ(of_last("graph g(x: f32[4,3], z: f32[3]) { y = add(x, z) return y }"),
            (cpu::CarriedDims{{0, -1}, {1, 0}}));
  // The positions carry the index; x is needed whole along them.
  EXPECT_EQ(of_last("graph g(x: f32[9,3], i: i64[4,2]) { y = gather(x, i) {axis = 0} return y }"),
            (cpu::CarriedDims{{-1, 0}, {-1, 1}, {1, -1}}));
  // Places that depend on more than the index.
  EXPECT_EQ(of_last("graph g(x: f32[4,3]) { y = slice(x) {starts = [1,0], sizes = [2,3]} "
                    "return y }"),
            (cpu::CarriedDims{{}, {1}}));
  EXPECT_EQ(of_last("graph g(x: f32[4,3]) { y = cumsum(x) {axis = 0} return y }"),
            (cpu::CarriedDims{{}, {1}}));
}

TEST(Blocks, ReshapesMoveDigits) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[3,4,5]) { y = reshape(x) {shape = [12,5]} z = reshape(y) {shape = [3,2,10]} "
      "return y, z }");
  const auto merge = cpu::MovedDimsOf(graph.outputs()[0].node());
  const auto split = cpu::MovedDimsOf(graph.outputs()[1].node());
  ASSERT_TRUE(merge && split);
  int64_t inner = 0;
  EXPECT_EQ(cpu::DigitOfInput(*merge, {0, 4}, 3, &inner), (cpu::Digit{0, 1}));
  EXPECT_EQ(cpu::DigitOfInput(*merge, {0, 1}, 4, &inner), (cpu::Digit{1, 1}));
  EXPECT_EQ(cpu::DigitOfResult(*merge, {0, 1}, 3, &inner), (cpu::Digit{0, 4}));
  EXPECT_EQ(cpu::DigitOfResult(*merge, {2, 1}, 5, &inner), (cpu::Digit{1, 1}));
  EXPECT_EQ(inner, 0);
  // 12 rows are 3 times 4.
  EXPECT_EQ(cpu::DigitOfInput(*merge, {0, 1}, 12, &inner), std::nullopt);
  EXPECT_EQ(inner, 4);
  // 4 rows of 5 are 2 rows of 10, so a row is half a row, which is a digit too.
  inner = 0;
  EXPECT_EQ(cpu::DigitOfResult(*split, {0, 4}, 3, &inner), (cpu::Digit{0, 1}));
  EXPECT_EQ(cpu::DigitOfResult(*split, {0, 1}, 4, &inner), std::nullopt);
  EXPECT_EQ(cpu::DigitOfInput(*split, {1, 1}, 2, &inner), (cpu::Digit{0, 2}));

  // Rows 4 to 7 of y are row 1 of x.
  const Graph block =
      GraphWithWeights("graph g(x: f32[1,4,5]) { y = reshape(x) {shape = [4,5]} return y }");
  const auto part = cpu::MovedDimsOf(block.outputs()[0].node());
  EXPECT_TRUE(cpu::MovesBlock(*merge, {{1, 1}, {0, 4}, {0, 5}}, {{4, 4}, {0, 5}}, *part));
  EXPECT_FALSE(cpu::MovesBlock(*merge, {{1, 1}, {0, 4}, {0, 5}}, {{5, 4}, {0, 5}}, *part));
  EXPECT_FALSE(cpu::MovesBlock(*merge, {{2, 1}, {0, 4}, {0, 5}}, {{4, 4}, {0, 5}}, *part));
}

TEST(Blocks, SumsAreReadOffDefinitions) {
  auto of_last = [](const std::string& text) {
    std::vector<std::pair<int64_t, std::vector<int>>> sums;
    for (const cpu::SummedDim& sum :
         cpu::SummedDimsOf(GraphWithWeights(text).outputs()[0].node())) {
      sums.emplace_back(sum.extent, sum.dims);
    }
    return sums;
  };
  using Sums = std::vector<std::pair<int64_t, std::vector<int>>>;
  EXPECT_EQ(of_last("graph g(x: f32[2,3,4], z: f32[2,4,5]) { y = matmul(x, z) return y }"),
            (Sums{{4, {2, 1}}}));
  EXPECT_EQ(of_last("graph g(x: f32[2,3,4]) { y = reduce_sum(x) {axes = [0,2]} return y }"),
            (Sums{{2, {0}}, {4, {2}}}));
  EXPECT_EQ(of_last("graph g(x: i32[2,3]) { y = reduce_sum(x) {axes = [0]} return y }"),
            (Sums{{2, {0}}}));
  // Not sums, or sums of more than one index of the operand.
  for (const char* text : {"graph g(x: f32[2,3]) { y = reduce_mean(x) {axes = [0]} return y }",
                           "graph g(x: f32[2,3]) { y = reduce_max(x) {axes = [0]} return y }",
                           "graph g(x: f32[2,3]) { y = cumsum(x) {axis = 0} return y }",
                           "graph g(x: f32[2,3]) { y = softmax(x) {axis = 0} return y }",
                           // Each sum would be rounded to 16 bits.
                           "graph g(x: f16[2,3]) { y = reduce_sum(x) {axes = [0]} return y }",
                           "graph g(x: bf16[2,3], z: bf16[3,4]) { y = matmul(x, z) return y }"}) {
    EXPECT_EQ(of_last(text), Sums{}) << text;
  }
}

TEST(Blocks, AGradientOfAttentionIsComputedInBlocks) {
  cpu::BlockOptions options;
  options.large_bytes = 20000;
  options.block_bytes = 4000;
  for (const char* middle : kMiddles) {
    // 40 queries, 48 keys and a width of 16.
    const std::string text = absl::StrReplaceAll(absl::Substitute(kAttention, middle),
                                                 {{"10", "40"}, {"12", "48"}, {",4]", ",16]"}});
    const Graph graph = StepOf(text, {"q", "k", "v"});
    const Graph blocked = Blocked(graph, options);
    EXPECT_EQ(LargestValue(graph), 2 * 3 * 40 * 48 * 4) << middle;
    EXPECT_LE(LargestValue(blocked), 2 * 3 * 40 * 48 * 4 / 2) << middle;
    EXPECT_TRUE(HasBarrier(blocked)) << middle;
    ExpectSameSums(graph, blocked, RandomInputs(graph));
  }
}

TEST(Blocks, CrossEntropyIsComputedInBlocks) {
  const Graph graph =
      GradientOf(R"(graph g(x: f32[40,6], w: f32[6,50], t: i64[40,1], c: i64[1,50]) {
    s = matmul(x, w) p = log_softmax(s) {axis = 1} chosen = equal(t, c) z = constant f32[] fill 0.0
    a = where(chosen, p, z) l = reduce_sum(a) {axes = [0,1]} return l })",
                 {"x", "w"});
  cpu::BlockOptions options;
  options.large_bytes = 4000;
  options.block_bytes = 1000;
  const Graph blocked = Blocked(graph, options);
  EXPECT_GE(LargestValue(graph), 40 * 50 * 4);
  EXPECT_LE(LargestValue(blocked), 4000);
  ExpectSameSums(graph, blocked, RandomInputs(graph));
}

TEST(Blocks, WhatIsRecomputedHasToBeCheap) {
  // The scores are sums of 300 products, everything else of 2.
  const Graph graph = StepOf(R"(graph g(q: f32[1,1,20,300], k: f32[1,1,300,20], v: f32[1,1,20,2]) {
    s = matmul(q, k) p = softmax(s) {axis = 3} y = matmul(p, v) return y })",
                             {"v"});
  EXPECT_EQ(Blocked(graph, Small()).StructuralHash(), graph.StructuralHash());
}

TEST(Blocks, ThePlanOfAGradientNeedsLittleMemory) {
  const Graph graph = StepOf(R"(graph g(q: f32[1,8,700,8], k: f32[1,8,650,8], v: f32[1,8,650,8]) {
    t = transpose(k) {perm = [0,1,3,2]} s = matmul(q, t) p = softmax(s) {axis = -1}
    y = matmul(p, v) return y })",
                             {"q", "k", "v"});
  const std::vector<Tensor> inputs = RandomInputs(graph);
  auto executable = ExpectCpuMatchesReference(graph, inputs, 2);
  ASSERT_NE(executable, nullptr);
  // One value of 700 x 650 for each of the 8 heads takes 14.6 MB.
  EXPECT_LT(executable->memory().planned_bytes, 14'000'000);
}

// The loops of the region go through batches before heads; the small vector of all sums has the
// heads outside.
TEST(Blocks, SmallValuesInAnotherOrderStayOutside) {
  const Graph graph = GraphWithWeights(R"(graph g(x: f32[4,4,64]) {
    e = exp(x) u = reduce_sum(e) {axes = [2]} t = transpose(u) {perm = [1,0]}
    r = reshape(t) {shape = [16]} q = reshape(r) {shape = [4,4]} z = transpose(q) {perm = [1,0]}
    p = reshape(z) {shape = [4,4,1]} y = div(e, p) return y, r })");
  cpu::BlockOptions options;
  options.large_bytes = 1000;
  options.block_bytes = 256;
  for (const bool only_cascades : {true, false}) {
    options.only_cascades = only_cascades;
    const Graph blocked = Blocked(graph, options);
    EXPECT_EQ(cpu::CheckBlocks(graph, blocked).status(), absl::OkStatus());
    ExpectSame(graph, blocked, RandomInputs(graph));
  }
}

TEST(Blocks, DividedGraphsWithUniformConstantsAreProved) {
  for (const char* middle :
       {"z = constant f32[1,1,1,1] fill 0.25 a = mul(s, z) p = softmax(a) {axis = 3}",
        "z = constant f32[1,1,10,12] fill 0.25 a = mul(s, z) p = softmax(a) {axis = 3}",
        "n = constant f32[] fill 0.25 z = expand(n) {shape = [2,3,10,12]} a = mul(s, z) "
        "p = softmax(a) {axis = 3}"}) {
    const Graph graph = GraphWithWeights(absl::Substitute(kAttention, middle));
    const Graph blocked = Blocked(graph, Small());
    EXPECT_NE(blocked.StructuralHash(), graph.StructuralHash()) << middle;
    EXPECT_EQ(cpu::CheckBlocks(graph, blocked).status(), absl::OkStatus()) << middle;
    ExpectSame(graph, blocked, RandomInputs(graph));
  }
}

// The sums of all blocks are one value.
TEST(Blocks, EqualPartsOfASumAreAdded) {
  const Graph graph = GraphWithWeights(
      "graph g(x: f32[1]) { e = expand(x) {shape = [64]} f = exp(e) "
      "y = reduce_sum(f) {axes = [0]} return y }");
  cpu::BlockOptions options;
  options.large_bytes = 100;
  options.block_bytes = 64;
  options.only_cascades = false;
  const Graph blocked = Blocked(graph, options);
  EXPECT_NE(blocked.StructuralHash(), graph.StructuralHash());
  EXPECT_EQ(cpu::CheckBlocks(graph, blocked).status(), absl::OkStatus());
  ExpectSameSums(graph, blocked, RandomInputs(graph));
}

TEST(Blocks, RandomGradientsComputeTheSame) {
  cpu::BlockOptions options;
  options.large_bytes = 16;
  options.block_bytes = 16;
  options.only_cascades = false;
  RandomGraphOptions random_options;
  random_options.allowed = [](const OpDef& op) { return op.gradient != nullptr; };
  random_options.allowed_type = [](DType type) { return type == DType::kF32; };
  int changed = 0, recomputed = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, random_options);
    const std::optional<Graph> step = StepOf(random.graph);
    if (!step) continue;
    const Graph blocked = Blocked(*step, options);
    if (blocked.StructuralHash() == step->StructuralHash()) continue;
    ++changed;
    recomputed += HasBarrier(blocked);
    SCOPED_TRACE(seed);
    EXPECT_EQ(cpu::CheckBlocks(*step, blocked).status(), absl::OkStatus());
    ExpectSameSums(*step, blocked, random.inputs);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(changed, 100);
  EXPECT_GT(recomputed, 10);
}

TEST(Blocks, RandomGraphsComputeTheSame) {
  cpu::BlockOptions options;
  options.large_bytes = 16;
  options.block_bytes = 16;
  options.only_cascades = false;
  RandomGraphOptions random_options;
  int changed = 0;
  for (uint64_t seed = 1; seed <= 5000; ++seed) {
    const RandomGraph random = MakeRandomGraph(seed, random_options);
    const Graph blocked = Blocked(random.graph, options);
    if (blocked.StructuralHash() == random.graph.StructuralHash()) continue;
    ++changed;
    SCOPED_TRACE(seed);
    EXPECT_EQ(cpu::CheckBlocks(random.graph, blocked).status(), absl::OkStatus());
    ExpectSameSums(random.graph, blocked, random.inputs);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace lemma
