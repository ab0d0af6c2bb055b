// Cascaded reductions are found in every spelling, without being told their names: their large
// values are computed in blocks, with the same results. What only looks like one gives the same
// results too.
#include "tests/runtime/blocks/cascade_spellings.h"

#include <cctype>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "runtime/cpu/blocks/block_check.h"
#include "runtime/cpu/blocks/blocks.h"
#include "tests/runtime/blocks/blocks_testutil.h"
#include "tests/runtime/runtime_testutil.h"

namespace lemma {
namespace {

constexpr uint64_t kSpellings = 20;
constexpr Numbers kAllNumbers[] = {Numbers::kOrdinary, Numbers::kLarge, Numbers::kMasked,
                                   Numbers::kNotFinite};

// Values of at least two fifths of the scores are large. So inputs, and masks and biases of all
// heads, may stay whole.
cpu::BlockOptions OptionsFor(const Spelling& spelling) {
  cpu::BlockOptions options;
  options.large_bytes = spelling.whole_bytes * 2 / 5;
  options.block_bytes = spelling.whole_bytes / 8;
  return options;
}

class EachCascade : public testing::TestWithParam<int> {
 protected:
  Cascade form() const { return static_cast<Cascade>(GetParam()); }

  void Expect(const Spelling& spelling, const std::vector<Numbers>& all) {
    const Graph graph = GraphOf(spelling);
    const Graph blocked = Blocked(graph, OptionsFor(spelling));
    EXPECT_GE(LargestValue(graph), spelling.whole_bytes);
    EXPECT_LT(LargestValue(blocked), spelling.whole_bytes);
    const auto proved = cpu::CheckBlocks(graph, blocked);
    EXPECT_TRUE(proved.ok()) << proved.status();
    if (proved.ok()) {
      EXPECT_GT(proved->applications, 2);
    }
    for (const Numbers numbers : all) {
      const std::vector<Tensor> inputs = InputsOf(graph, numbers, 7);
      if (spelling.divides_sums) {
        ExpectSameSums(graph, blocked, inputs);
      } else {
        ExpectSame(graph, blocked, inputs);
      }
    }
  }
};

TEST_P(EachCascade, IsFoundInEverySpelling) {
  for (uint64_t seed = 1; seed <= kSpellings; ++seed) {
    const Spelling spelling = Spell(form(), seed);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", spelling.text));
    Expect(spelling, {std::begin(kAllNumbers), std::end(kAllNumbers)});
  }
}

// The kernels of the CPU compute the blocks.
TEST_P(EachCascade, RunsOnTheCpu) {
  for (const uint64_t seed : {1, 2, 3}) {
    const Spelling spelling = Spell(form(), seed, /*gradient=*/seed == 3);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", spelling.text));
    const Graph graph = GraphOf(spelling);
    const std::vector<Tensor> inputs = InputsOf(graph, Numbers::kOrdinary, seed);
    ExpectCpuMatchesReference(Blocked(graph, OptionsFor(spelling)), inputs);
  }
}

TEST_P(EachCascade, IsFoundInGradients) {
  if (!Spell(form(), 1).parameters.empty()) return;  // in the test above
  for (uint64_t seed = 1; seed <= kSpellings; ++seed) {
    const Spelling spelling = Spell(form(), seed, /*gradient=*/true);
    SCOPED_TRACE(absl::StrCat("seed ", seed, "\n", spelling.text));
    Expect(spelling, {Numbers::kOrdinary, kAllNumbers[1 + seed % 3]});
  }
}

INSTANTIATE_TEST_SUITE_P(Cascades, EachCascade, testing::Range(0, kNumCascades),
                         [](const testing::TestParamInfo<int>& info) {
                           std::string name = Name(static_cast<Cascade>(info.param));
                           for (char& c : name) c = std::isalpha(c) ? c : '_';
                           return name;
                         });

// What reads more than it seems to, or something else. Each stays whole or gives the same numbers.
constexpr const char* kNearMisses[] = {
    // A mask behind the softmax, and then without a sum of 1.
    "p0 = softmax(s) {axis = 3} z = constant f32[] fill 0.0 p = where(m, p0, z)",
    "p0 = softmax(s) {axis = 3} z = constant f32[] fill 0.0 p1 = where(m, p0, z) "
    "u = reduce_sum(p1) {axes = [3], keepdims = 1} p = div(p1, u)",
    // A scale of each key; a scale of each query, from the keys' axis.
    "a = mul(s, c) p = softmax(a) {axis = 3}",
    "r = reshape(c) {shape = [20,1]} a = mul(s, r) p = softmax(a) {axis = 3}",
    // Two maxima: of the row and of the column; of the row and of all heads.
    "x = reduce_max(s) {axes = [3], keepdims = 1} w = reduce_max(s) {axes = [2], keepdims = 1} "
    "d = sub(s, x) e = sub(d, w) p = exp(e)",
    "x = reduce_max(s) {axes = [3], keepdims = 1} w = reduce_max(s) {axes = [1,3], keepdims = 1} "
    "d = sub(s, x) e = exp(d) f = sub(s, w) g = exp(f) "
    "u = reduce_sum(g) {axes = [3], keepdims = 1} p = div(e, u)",
    // The maximum of the row below, or of a row that a value chooses.
    "x = reduce_max(s) {axes = [3], keepdims = 1} "
    "h = slice(x) {starts = [0,0,1,0], sizes = [2,3,19,1], steps = [1,1,1,1]} "
    "l = slice(x) {starts = [0,0,0,0], sizes = [2,3,1,1], steps = [1,1,1,1]} "
    "w = concat(h, l) {axis = 2} d = sub(s, w) p = exp(d)",
    "x = reduce_max(s) {axes = [3], keepdims = 1} w = gather(x, i) {axis = 2} d = sub(s, w) "
    "p = exp(d)",
    // Rows in another order.
    "t = gather(s, i) {axis = 2} p0 = softmax(s) {axis = 3} p = mul(p0, t)",
    // Along queries, along heads, along both lengths.
    "p = softmax(s) {axis = 2}",
    "p = softmax(s) {axis = 1}",
    "t = reshape(s) {shape = [2,3,400]} p0 = softmax(t) {axis = 2} "
    "p = reshape(p0) {shape = [2,3,20,20]}",
    // Queries and keys exchanged by a reshape that is no transpose; heads and queries mixed.
    "t = transpose(s) {perm = [0,1,3,2]} a = add(s, t) p = softmax(a) {axis = 3}",
    "t = reshape(s) {shape = [2,20,3,20]} w = transpose(t) {perm = [0,2,1,3]} a = add(s, w) "
    "p = softmax(a) {axis = 3}",
    "t = reshape(s) {shape = [2,60,20]} w = reshape(t) {shape = [2,20,3,20]} "
    "x = reduce_max(w) {axes = [3], keepdims = 1} y0 = reshape(x) {shape = [2,3,20,1]} "
    "d = sub(s, y0) p = exp(d)",
    "t = transpose(s) {perm = [1,0,2,3]} w = reshape(t) {shape = [6,20,20]} "
    "p0 = softmax(w) {axis = 2} x = reshape(p0) {shape = [3,2,20,20]} "
    "p = transpose(x) {perm = [1,0,2,3]}",
    "t = transpose(s) {perm = [1,0,2,3]} w = reshape(t) {shape = [6,20,20]} "
    "p0 = softmax(w) {axis = 2} p = reshape(p0) {shape = [2,3,20,20]}",
    // Probabilities of the rows before; a triangle of the scores.
    "p0 = softmax(s) {axis = 3} p = cumsum(p0) {axis = 2}",
    "t = trilu(s) {k = 0, upper = 0} p = softmax(t) {axis = 3}",
    "p0 = softmax(s) {axis = 3} p = trilu(p0) {k = 1, upper = 0}",
    // A sum of all rows.
    "e = exp(s) u = reduce_sum(e) {axes = [2,3], keepdims = 1} p = div(e, u)",
    "e = exp(s) u = reduce_sum(e) {axes = [0,1,2,3], keepdims = 1} p = div(e, u)",
};

TEST(Cascades, NearMissesGiveTheSameNumbers) {
  cpu::BlockOptions options;
  options.large_bytes = 2 * 3 * 20 * 20 * 2;
  options.block_bytes = 1200;
  for (const char* middle : kNearMisses) {
    Spelling spelling;
    spelling.text = absl::Substitute(R"(graph g(q_1: f32[2,3,20,4], k_2: f32[2,3,4,20],
        v_3: f32[2,3,20,4], mask_4: bool[20,20], bias_5: f32[20], label_6: i64[20]) {
      s = matmul(q_1, k_2) n = constant i64[] fill 20 i = mod(label_6, n)
      c = neg(bias_5) m = not(mask_4) $0 y = matmul(p, v_3) return y })",
                                     middle);
    for (const bool gradient : {false, true}) {
      Spelling now = spelling;
      if (gradient) now.parameters = {"q", "k", "v"};
      const Graph graph = GraphOf(now);
      const Graph blocked = Blocked(graph, options);
      SCOPED_TRACE(middle);
      EXPECT_TRUE(cpu::CheckBlocks(graph, blocked).ok());
      for (const Numbers numbers : kAllNumbers) {
        ExpectSameSums(graph, blocked, InputsOf(graph, numbers, 5));
      }
    }
  }
}

TEST(Cascades, TheLargestOfASoftmaxAreLeftAlone) {
  for (const char* made : {"p = softmax(s) {axis = -1}",
                           "x = reduce_max(s) {axes = [1], keepdims = 1} d = sub(s, x) e = exp(d) "
                           "u = reduce_sum(e) {axes = [1], keepdims = 1} p = div(e, u)"}) {
    const Graph graph = GraphWithWeights(absl::Substitute(
        R"(graph g(a: f32[40,6], w: f32[6,50]) {
          s = matmul(a, w) $0 y, i = top_k(p) {axis = 1, k = 5} return y, i })",
        made));
    cpu::BlockOptions options;
    options.large_bytes = 4000;
    options.block_bytes = 1000;
    EXPECT_EQ(Blocked(graph, options).StructuralHash(), graph.StructuralHash()) << made;
  }
}

}  // namespace
}  // namespace lemma
