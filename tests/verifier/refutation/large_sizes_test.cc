// Claims that are true up to a size, or for elements up to a number, that a constant in the claim
// suggests.
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

std::string Claim(const std::string& vars, const std::string& where, const std::string& source,
                  const std::string& target) {
  return absl::StrCat("rule r(", vars, ") real_only ", where, " { ", source, " return z } => { ",
                      target, " return z }");
}

// The counterexample's value of each symbol, in the order of their names: "m = 1, n = 41".
std::string RefutedAt(const std::string& claim) {
  const Verdict verdict = ProveText(claim);
  const auto* refuted = std::get_if<Refuted>(&verdict);
  if (refuted == nullptr) return ToString(verdict);
  EXPECT_TRUE(refuted->source != refuted->target || refuted->shapes_differ());
  std::string text;
  for (const auto& [name, value] : refuted->values) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, " = ", value);
  }
  return text;
}

constexpr char kMaximum[] = "z = reduce_max(x) {axes = [0]}";

std::string MaximumOfTheFirst(int count) {
  return absl::StrCat("y = slice(x) {starts = [0], sizes = [min(n, ", count,
                      ")]} z = reduce_max(y) {axes = [0]}");
}

TEST(LargeSizes, FalseAbove40) {
  EXPECT_EQ(RefutedAt(Claim("x: [n]", "", MaximumOfTheFirst(40), kMaximum)), "n = 41");
}

TEST(LargeSizes, FalseAbove64) {
  EXPECT_EQ(RefutedAt(Claim("x: [n]", "", MaximumOfTheFirst(64), kMaximum)), "n = 65");
}

TEST(LargeSizes, FalseAbove200) {
  EXPECT_EQ(RefutedAt(Claim("x: [n]", "", MaximumOfTheFirst(200), kMaximum)), "n = 201");
}

// Only the shapes differ.
TEST(LargeSizes, ShapesThatDifferAbove40) {
  EXPECT_EQ(
      RefutedAt(Claim("x: [n]", "", "y = slice(x) {starts = [0], sizes = [min(n, 40)]} z = neg(y)",
                      "z = neg(x)")),
      "n = 41");
}

// False from a size on that an attribute states.
TEST(LargeSizes, FalseBeyondADiagonal) {
  EXPECT_EQ(
      RefutedAt(Claim("x: [n,m]", "", "y = trilu(x) {k = 64, upper = 0} z = neg(y)", "z = neg(x)")),
      "m = 66, n = 1");
}

// Only a constant among the elements shows how many elements count.
TEST(LargeSizes, FalseWhereMoreThan200AreCounted) {
  const std::string count =
      "one = constant [n] fill 1.0 s = reduce_sum(one) {axes = [0]}"
      " c = constant [] fill 200.0 ";
  EXPECT_EQ(RefutedAt(Claim("x: [n]", "", count + "t = min(s, c) z = mul(x, t)",
                            "one = constant [n] fill 1.0 s = reduce_sum(one) {axes = [0]}"
                            " z = mul(x, s)")),
            "n = 201");
}

TEST(LargeSizes, FalseWhereEitherOfTwoIsLarge) {
  const std::string first =
      "y = slice(x) {starts = [0, 0], sizes = [min(n, 40), min(m, 64)]}"
      " z = reduce_max(y) {axes = [0, 1]}";
  const std::string at =
      RefutedAt(Claim("x: [n,m]", "", first, "z = reduce_max(x) {axes = [0, 1]}"));
  EXPECT_TRUE(at == "m = 1, n = 41" || at == "m = 65, n = 1") << at;
}

TEST(LargeSizes, FalseWhereBothOfTwoAreLarge) {
  EXPECT_EQ(RefutedAt(Claim("x: [n,m]", "where n >= 41, m >= 65", "z = abs(x)", "z = neg(x)")),
            "m = 65, n = 41");
}

TEST(LargeSizes, FalseWhereTheProductOfTwoIsLarge) {
  const Verdict verdict =
      ProveText(Claim("x: [n,m]", "where n * m > 200", "z = abs(x)", "z = neg(x)"));
  const auto* refuted = std::get_if<Refuted>(&verdict);
  ASSERT_TRUE(refuted != nullptr) << ToString(verdict);
  int n = 0, m = 0;
  ASSERT_TRUE(absl::SimpleAtoi(refuted->values.at("n"), &n));
  ASSERT_TRUE(absl::SimpleAtoi(refuted->values.at("m"), &m));
  EXPECT_GT(n * m, 200);
}

// False from the sum of two constants on.
TEST(LargeSizes, FalseAboveASumOfConstants) {
  EXPECT_EQ(RefutedAt(Claim("x: [n]", "",
                            "a = slice(x) {starts = [min(n, 24)], sizes = [n - min(n, 24)]}"
                            " b = pad(a) {pads = [0, 1], value = -1000.0}"
                            " c = slice(b) {starts = [min(n - min(n, 24), 40)],"
                            " sizes = [n - min(n, 24) - min(n - min(n, 24), 40) + 1]}"
                            " z = reduce_max(c) {axes = [0]}",
                            "z = constant [] fill -1000.0")),
            "n = 65");
}

TEST(LargeSizes, FalseOfElementsAbove6) {
  EXPECT_EQ(RefutedAt(Claim("x: [n]", "", "z = clip(x) {min = 0.0, max = 6.0}", "z = relu(x)")),
            "n = 1");
}

TEST(LargeSizes, FalseOfIntegersAbove40) {
  EXPECT_EQ(RefutedAt(Claim("t: i64[n], x: [n]", "",
                            "k = constant i64[] fill 40 c = less(t, k) z = where(c, x, x)",
                            "k = constant i64[] fill 40 c = less(t, k) y = neg(x)"
                            " z = where(c, x, y)")),
            "n = 1");
}

// A claim that is true, but whose condition excludes all small sizes, is proved, not given up.
TEST(LargeSizes, TrueWhereAllSizesAreLarge) {
  const Verdict verdict = ProveText(Claim("x: [n]", "where n >= 200", "y = neg(x) z = neg(y)",
                                          "y = abs(x) w = sub(y, y)"
                                          " z = add(w, x)"));
  EXPECT_TRUE(IsProved(verdict)) << ToString(verdict);
}

// True claims are not refuted at the sizes that their constants suggest.
TEST(LargeSizes, TrueClaimsWithLargeConstantsAreNotRefuted) {
  const Verdict verdict =
      ProveText(Claim("x: [n]", "where n <= 40", MaximumOfTheFirst(40), kMaximum));
  EXPECT_FALSE(IsRefuted(verdict)) << ToString(verdict);
}

}  // namespace
}  // namespace lemma
