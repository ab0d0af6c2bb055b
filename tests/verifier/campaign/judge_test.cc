// The judge of the campaign finds differences in false claims and none in true ones.
#include "tests/verifier/campaign/judge.h"

#include <random>
#include <set>
#include <string>
#include <utility>

#include "graph/builder.h"
#include "gtest/gtest.h"
#include "tests/verifier/campaign/judge_inputs.h"
#include "tests/verifier/prover_testutil.h"

namespace lemma {
namespace {

std::string DifferenceIn(const Substitution& rule, bool as_proved) {
  JudgeOptions options;
  options.as_proved = as_proved;
  options.instances = as_proved ? 8 : 24;
  return Judge(rule, options).difference.value_or("");
}

TEST(Judge, DrawsLimitsOfIntegers) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (!IsInteger(dtype) || dtype == DType::kU64) continue;
    GraphBuilder builder("g");
    builder.Output("y", builder.Input("x", {dtype, {64}}));
    const Graph graph = *std::move(builder).Build();
    std::set<int64_t> drawn;
    for (int k = 0; k < 20; ++k) {
      const Tensor x = DrawInputs(graph, Inputs::kSpecial, false, {}, &random)[0];
      for (int64_t e = 0; e < x.size(); ++e) drawn.insert(x.AtInt(e));
    }
    EXPECT_EQ(*drawn.begin(), LeastInteger(dtype)) << Name(dtype);
    EXPECT_EQ(*drawn.rbegin(), LargestInteger(dtype)) << Name(dtype);
  }
}

TEST(Judge, FalseClaimsDiffer) {
  int all = 0, found = 0;
  for (const char* family : {"", "broadcast", "conv", "data", "elementwise", "layout", "matmul",
                             "norms", "pooling", "reductions"}) {
    const std::string name = family;
    for (const Substitution& rule : RulesIn(
             name.empty() ? "tests/verifier/traps.txt" : "tests/verifier/traps/" + name + ".txt")) {
      ++all;
      const bool differs = !DifferenceIn(rule, false).empty();
      found += differs;
      if (!differs) printf("not seen to differ: %s\n", rule.name.c_str());
    }
  }
  printf("%d of %d\n", found, all);
  EXPECT_GE(all, 400);
  EXPECT_GE(found, all - all / 50);
}

TEST(Judge, TrueRulesDoNotDiffer) {
  for (const char* path : {"data/rules/starter.txt", "tests/verifier/identities.txt"}) {
    for (const Substitution& rule : RulesIn(path))
      EXPECT_EQ(DifferenceIn(rule, true), "") << rule.name;
  }
}

// The difference found in the claim if it promises `contract`.
std::string DifferenceAs(const std::string& contract, const std::string& vars,
                         const std::string& source, const std::string& target) {
  const auto rules = Rules("rule r(" + vars + ") " + contract + " { " + source +
                           " return z } => { " + target + " return z }");
  return rules.empty() ? "not a rule" : DifferenceIn(rules[0], true);
}

TEST(Judge, HoldsClaimsToTheirContract) {
  for (const char* contract : {"bit_exact", "reassociates", "real_only"}) {
    const bool exact = std::string(contract) == "bit_exact";
    const std::string order =
        DifferenceAs(contract, "x: [n], y: [n], w: [n]", "a = add(x, y) z = add(a, w)",
                     "a = add(y, w) z = add(x, a)");
    EXPECT_EQ(order.empty(), !exact) << contract << ": " << order;
    // x - x + y: both sides read x, which may be infinite
    const std::string both = DifferenceAs(contract, "x: [n], y: [n]", "a = sub(x, x) z = add(a, y)",
                                          "a = sub(y, x) z = add(a, x)");
    EXPECT_EQ(both.empty(), !exact) << contract << ": " << both;
    // x + y - y = x, where y may be NaN
    const std::string other = DifferenceAs(contract, "x: [n,m], y: [n,m]",
                                           "a = reduce_sum(x) {axes = [0]} b = add(x, y)"
                                           " c = sub(b, y) z = add(a, c)",
                                           "a = reduce_sum(x) {axes = [0]} z = add(a, x)");
    EXPECT_EQ(other.empty(), std::string(contract) == "real_only") << contract << ": " << other;
  }
}

// The mean of x - 1/mean is not exact in double, and its sign is not 0.
TEST(Judge, LeavesOutRoundingsAtDiscontinuities) {
  const std::string mean = " m = reduce_mean(f) {axes = [1], keepdims = 1}";
  EXPECT_EQ(
      DifferenceAs("real_only", "x: [n,m]", "f = floor(x)" + mean + " d = sub(f, m) z = sign(d)",
                   "f = floor(x)" + mean +
                       " r = reciprocal(m) s = sub(f, r)"
                       " n = reduce_mean(s) {axes = [1], keepdims = 1}"
                       " d = sub(s, n) z = sign(d)"),
      "");
}

// 3/0 - 2/0 and (3 - 2)/0 have no value as real numbers, although u8 makes 0 and 255 of them.
TEST(Judge, LeavesOutNumbersWithoutAValue) {
  EXPECT_EQ(DifferenceAs("real_only", "x: [n], y: [n], w: []",
                         "a = div(x, w) b = div(y, w) c = add(a, b) z = cast(c) {dtype = \"u8\"}",
                         "a = add(x, y) b = div(a, w) z = cast(b) {dtype = \"u8\"}"),
            "");
}

TEST(Judge, LooksAboveTheConstantsOfAClaim) {
  for (const char* n : {"40", "64", "200"}) {
    EXPECT_NE(DifferenceAs("real_only", "x: [n]",
                           std::string("y = slice(x) {starts = [0], sizes = [min(n, ") + n +
                               ")]} z = reduce_max(y) {axes = [0]}",
                           "z = reduce_max(x) {axes = [0]}"),
              "")
        << n;
  }
}

}  // namespace
}  // namespace lemma
