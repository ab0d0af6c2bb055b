// The float contract of a proof: it depends on the elements that both sides read, and on the
// arguments of comparisons, roundings and conversions.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "rewrite/rules/proof_check.h"
#include "tests/verifier/prover_testutil.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

struct Case {
  std::string vars, source, target;
};

std::string ContractOf(const Case& c) {
  const Verdict verdict = ProveText(absl::StrCat("rule r(", c.vars, ") real_only { ", c.source,
                                                 " return z } => { ", c.target, " return z }"));
  const auto* proved = std::get_if<Proved>(&verdict);
  return proved == nullptr ? ToString(verdict) : Name(proved->contract);
}

void Expect(const std::string& contract, const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(ContractOf(c), contract) << c.source << "\n" << c.target;
}

// An infinite element that only one side reads makes NaN on that side only.
TEST(ContractTest, AnElementThatOneSideAloneReadsIsRealOnly) {
  const std::string first = "a = slice(x) {starts = [0,0], sizes = [1,m]}";
  const std::string last = "b = slice(x) {starts = [n-1,0], sizes = [1,m]}";
  Expect(
      "real_only",
      {{"x: f32[n,m]", first + last + " s = add(a, b) z = sub(s, b)",
        "z = slice(x) {starts = [0,0], sizes = [1,m]}"},
       // all of x, and all of x but its first row
       {"x: f32[n,m]", "t = reduce_sum(x) {axes = [0], keepdims = 1} " + first + " z = sub(t, a)",
        "t = slice(x) {starts = [1,0], sizes = [n-1,m]}"
        " z = reduce_sum(t) {axes = [0], keepdims = 1}"},
       // beyond the padding 0, and 0·s
       {"x: f32[n], s: f32[]", "a = mul(x, s) z = pad(a) {pads = [1,1]}",
        "a = pad(x) {pads = [1,1]} z = mul(a, s)"},
       {"x: f32[n], y: f32[n]", "a = add(x, y) z = sub(a, y)", "a = neg(x) z = neg(a)"}});
}

TEST(ContractTest, TheSameElementsInAnotherOrderReassociate) {
  Expect("reassociates",
         {{"x: f32[n,m], y: f32[m,k], s: f32[]", "a = mul(x, s) z = matmul(a, y)",
           "a = matmul(x, y) z = mul(a, s)"},
          {"x: f32[m,k], y: f32[k,l], v: f32[l,n]", "a = matmul(x, y) z = matmul(a, v)",
           "a = matmul(y, v) z = matmul(x, a)"},
          {"x: f32[n], y: f32[n], w: f32[n]", "a = add(x, y) z = mul(a, w)",
           "a = mul(x, w) b = mul(y, w) z = add(a, b)"},
          {"x: f32[n,m]", "a = reduce_sum(x) {axes = [0]} z = reduce_sum(a) {axes = [0]}",
           "z = reduce_sum(x) {axes = [0,1]}"},
          {"x: f32[n,4*m]", "a = reshape(x) {shape = [n,4,m]} z = reduce_sum(a) {axes = [1,2]}",
           "z = reduce_sum(x) {axes = [1]}"}});
}

// A root that cancels out has no value at negative numbers, and only one side shows that.
TEST(ContractTest, ARootThatOneSideAloneTakesIsRealOnly) {
  Expect("real_only",
         {{"x: f32[n]", "a = sqrt(x) b = sub(a, a) z = add(b, x)", "a = add(x, x) z = sub(a, x)"},
          {"x: f32[n], y: f32[n]", "a = log(x) b = sub(a, a) c = mul(b, y) z = add(c, x)",
           "a = sub(y, y) z = add(x, a)"},
          // roots of other numbers
          {"x: f32[n], y: f32[n]", "a = sqrt(x) b = sub(a, a) z = add(b, y)",
           "c = add(x, y) a = sqrt(c) b = sub(a, a) z = add(b, y)"}});
}

TEST(ContractTest, TheSameRootsReassociate) {
  Expect("reassociates",
         {{"x: f32[n], y: f32[n], w: f32[n]", "a = add(x, y) b = add(a, w) z = sqrt(b)",
           "a = add(y, w) b = add(x, a) z = sqrt(b)"},
          {"x: f32[n,m], y: f32[n,m]",
           "a = mul(x, y) s = reduce_sum(a) {axes = [1], keepdims = 1} b = log(s) z = mul(x, b)",
           "a = mul(y, x) s = reduce_sum(a) {axes = [1], keepdims = 1} b = log(s) c = mul(x, b) "
           "d = add(c, c) z = sub(d, c)"}});
}

// Weights are finite, which matching and lemma check ensure.
TEST(ContractTest, WhichElementsOfAWeightAreReadDoesNotMatter) {
  const Case c = {"x: f32[n], s: f32[]", "a = mul(x, s) z = pad(a) {pads = [1,1]}",
                  "a = pad(x) {pads = [1,1]} z = mul(a, s)"};
  Case weight = c;
  weight.vars = "x: f32[n], s: weight f32[]";
  EXPECT_EQ(ContractOf(c), "real_only");
  EXPECT_EQ(ContractOf(weight), "reassociates");
  // So neither rule's proof is a proof of the other.
  auto rule = [](const Case& of) {
    return Rules(absl::StrCat("rule r(", of.vars, ") real_only { ", of.source, " return z } => { ",
                              of.target, " return z }"))[0];
  };
  EXPECT_NE(CurrentProofId(rule(c)), CurrentProofId(rule(weight)));
}

TEST(ContractTest, ABooleanThatMayFlipIsRealOnly) {
  Expect("real_only",
         {// of integers that f32 does not tell apart
          {"x: i64[n], y: i64[n]",
           "a = cast(x) {dtype = \"f32\"} b = cast(y) {dtype = \"f32\"}"
           " z = less(a, b)",
           "z = less(x, y)"},
          {"x: f32[n], y: f32[n], w: f32[n]", "a = add(x, y) b = add(a, w) z = less(b, x)",
           "a = add(y, w) b = add(x, a) z = less(b, x)"},
          {"x: f32[n], y: f32[n], w: f32[n]", "a = add(x, y) b = add(a, w) z = floor(b)",
           "a = add(y, w) b = add(x, a) z = floor(b)"},
          {"x: f32[n], y: f32[n], w: f32[n]", "a = add(x, y) b = add(a, w) z = sign(b)",
           "a = add(y, w) b = add(x, a) z = sign(b)"},
          {"x: f32[n], y: f32[n], w: f32[n]",
           "a = add(x, y) b = add(a, w) z = cast(b) {dtype = \"i64\"}",
           "a = add(y, w) b = add(x, a) z = cast(b) {dtype = \"i64\"}"},
          {"x: f32[n], y: f32[n], w: f32[n]",
           "a = add(x, y) b = add(a, w) z = cast(b) {dtype = \"bool\"}",
           "a = add(y, w) b = add(x, a) z = cast(b) {dtype = \"bool\"}"},
          // the result of a comparison is a float again
          {"x: f32[n], y: f32[n], w: f32[n]",
           "a = add(x, y) b = add(a, w) c = less(b, x) z = where(c, x, y)",
           "a = add(y, w) b = add(x, a) c = less(b, x) z = where(c, x, y)"}});
}

TEST(ContractTest, WhatIsComparedBitByBitMayBeUsedInAnotherOrder) {
  Expect(
      "reassociates",
      {{"x: f32[n], y: f32[n], w: f32[n]",
        "c = less(x, y) a = where(c, x, y) b = add(a, w) z = add(b, y)",
        "c = less(x, y) a = where(c, x, y) b = add(w, y) z = add(a, b)"},
       {"x: f32[n], y: f32[n], w: f32[n]", "c = floor(x) a = mul(c, y) b = mul(c, w) z = add(a, b)",
        "c = floor(x) a = add(y, w) z = mul(c, a)"},
       {"x: f32[n], y: f32[n]", "a = neg(x) b = sign(a) c = mul(b, y) z = neg(c)",
        "b = sign(x) z = mul(b, y)"},
       // floor(floor(x)) = floor(x), and floors of maxima are maxima of floors, bit by bit
       {"x: f32[n], y: f32[n]", "a = floor(x) b = floor(a) z = add(b, y)",
        "a = floor(x) z = add(y, a)"}});
}

// Which of 0 and -0 a maximum gives depends on its order; 1 / 0 and 1 / -0 are infinities of
// different sign. So such rules are not bit_exact.
TEST(ContractTest, WhatDividesByAMaximumIsNotBitExact) {
  Expect("reassociates",
         {{"x: f32[n], y: f32[n]", "a = max(x, y) z = reciprocal(a)",
           "a = max(y, x) z = reciprocal(a)"},
          {"x: f32[n,c,h,w]", "a = relu(x) b = max_pool2d(a) {kernel = [3,3]} z = reciprocal(b)",
           "a = max_pool2d(x) {kernel = [3,3]} b = relu(a) z = reciprocal(b)"},
          {"x: f32[n], y: f32[n], w: f32[n]", "a = max(x, y) b = neg(a) c = sqrt(b) z = div(w, c)",
           "a = max(y, x) b = neg(a) c = sqrt(b) z = div(w, c)"},
          {"x: f32[n], y: f32[n], w: f32[n]", "a = min(x, y) z = pow(a, w)",
           "a = min(y, x) z = pow(a, w)"}});
}

TEST(ContractTest, WhereTheSignOfAZeroIsLostProofsAreBitExact) {
  Expect("bit_exact",
         {{"x: f32[n], y: f32[n]", "a = max(x, y) z = exp(a)", "a = max(y, x) z = exp(a)"},
          {"x: f32[n], y: f32[n]", "a = max(x, y) b = sigmoid(a) z = neg(b)",
           "a = max(y, x) b = sigmoid(a) z = neg(b)"},
          {"x: f32[n,m]", "a = neg(x) b = neg(a) z = softmax(b) {axis = 1}",
           "z = softmax(x) {axis = 1}"},
          // away from 0
          {"x: f32[n], y: f32[n]", "a = clip(x) {min = 0.5} z = div(y, a)",
           "a = clip(x) {min = 0.5} b = neg(y) c = neg(b) z = div(c, a)"}});
}

// Integers are exact: no rounded value is compared.
TEST(ContractTest, SumsOfIntegersMayBeComparedInAnyOrder) {
  const std::string contract =
      ContractOf({"x: i64[n], y: i64[n], w: i64[n]", "a = add(x, y) b = add(a, w) z = less(b, x)",
                  "a = add(y, w) b = add(x, a) z = less(b, x)"});
  EXPECT_NE(contract, "real_only") << contract;
}

}  // namespace
}  // namespace lemma
