// Graphs at their shapes: claims about integers, constants and weights that are proved, and claims
// that must not be.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "verifier/prover/prover.h"

namespace lemma {
namespace {

Verdict ProveTexts(const std::string& a, const std::string& b, int samples = 10) {
  auto x = ParseGraph("graph a" + a), y = ParseGraph("graph b" + b);
  EXPECT_TRUE(x.ok() && y.ok()) << a << b << x.status() << y.status();
  if (!x.ok() || !y.ok()) return Unknown{"the text does not parse"};
  ProverOptions options;
  options.samples = samples;
  return ProveGraphs(*x, *y, options);
}

void ExpectProved(const std::string& a, const std::string& b) {
  const Verdict verdict = ProveTexts(a, b);
  EXPECT_TRUE(IsProved(verdict)) << a << b << ToString(verdict);
}

// Expects that the claim is refuted and, with refutation switched off, not proved, in both
// directions.
void ExpectRefuted(const std::string& a, const std::string& b) {
  const Verdict verdict = ProveTexts(a, b);
  EXPECT_TRUE(IsRefuted(verdict)) << a << b << ToString(verdict);
  EXPECT_FALSE(IsProved(ProveTexts(a, b, 0))) << a << b;
  EXPECT_FALSE(IsProved(ProveTexts(b, a, 0))) << a << b;
}

void ExpectUnknown(const std::string& a, const std::string& b) {
  for (int samples : {0, 10}) {
    const Verdict verdict = ProveTexts(a, b, samples);
    EXPECT_TRUE(std::holds_alternative<Unknown>(verdict)) << a << b << ToString(verdict);
  }
}

std::string Reason(const Verdict& verdict) {
  auto* unknown = std::get_if<Unknown>(&verdict);
  return unknown == nullptr ? ToString(verdict) : unknown->reason;
}

// x[l] by position, and as a sum over classes of which one is chosen.
std::string OneHot(const std::string& number) {
  return "(x: f32[3,5], l: i64[3]) { c = constant i64[1,5] [0, 1, 2, 3, 4]\n m = reshape(l) "
         "{shape = [3,1]}\n" +
         number +
         " e = equal(n, c)\n z = constant f32[] fill 0.0\n w = where(e, x, z)\n"
         "y = reduce_sum(w) {axes = [1]}\n return y }";
}
constexpr char kGather[] = R"((x: f32[3,5], l: i64[3]) {
  m = reshape(l) {shape = [3,1]}
  g = gather_elements(x, m) {axis = 1}
  y = reshape(g) {shape = [3]}
  return y })";

// Each piece is proved bit by bit, but a maximum may give either of 0 and -0, and a piece divides
// by it.
TEST(ProveGraphs, WhatDividesByAMaximumIsNotBitExactInPiecesEither) {
  const std::string head = "(x: f32[4], y: f32[4]) { ";
  const std::string tail = " n = neg(m)\n z = reciprocal(n)\n return z }";
  const Verdict verdict =
      ProveTexts(head + "m = max(x, y)\n" + tail, head + "m = max(y, x)\n" + tail);
  ASSERT_TRUE(IsProved(verdict)) << ToString(verdict);
  EXPECT_EQ(std::get<Proved>(verdict).contract, FloatContract::kReassociates);
  const std::string harmless = " n = neg(m)\n z = exp(n)\n return z }";
  const Verdict exact =
      ProveTexts(head + "m = max(x, y)\n" + harmless, head + "m = max(y, x)\n" + harmless);
  ASSERT_TRUE(IsProved(exact)) << ToString(exact);
  EXPECT_EQ(std::get<Proved>(exact).contract, FloatContract::kBitExact);
}

TEST(ProveGraphs, APositionIsAChoice) {
  const std::string wrapped =
      "k = constant i64[] fill 0\n b = less(m, k)\n s = constant i64[] fill 5\n"
      "p = add(m, s)\n n = where(b, p, m)\n";
  ExpectProved(OneHot(wrapped), kGather);
  ExpectProved(kGather, OneHot(wrapped));
}

TEST(ProveGraphs, APositionIsAChoiceOfTheRightOne) {
  // Negative labels match no class.
  EXPECT_FALSE(IsProved(ProveTexts(OneHot("n = relu(m)\n"), kGather)));
  EXPECT_FALSE(IsProved(ProveTexts(OneHot("o = neg(m)\n n = neg(o)\n"), kGather)));
  const std::string shifted =
      "k = constant i64[] fill 0\n b = less(m, k)\n s = constant i64[] fill 5\n"
      "o = constant i64[] fill 1\n p = add(m, s)\n q = add(m, o)\n n = where(b, p, q)\n";
  ExpectRefuted(OneHot(shifted), kGather);
}

TEST(ProveGraphs, MasksAreTheirComplements) {
  const char* source = R"((x: f32[4], l: i64[4]) {
    k = constant i64[] fill 1
    b = less(l, k)
    z = constant f32[] fill 0.0
    y = where(b, x, z)
    return y })";
  ExpectProved(source, R"((x: f32[4], l: i64[4]) {
    k = constant i64[] fill 0
    b = greater(l, k)
    z = constant f32[] fill 0.0
    y = where(b, z, x)
    return y })");
  ExpectRefuted(source, R"((x: f32[4], l: i64[4]) {
    k = constant i64[] fill 1
    b = greater(l, k)
    z = constant f32[] fill 0.0
    y = where(b, z, x)
    return y })");
}

TEST(ProveGraphs, SmallConstantsAreValues) {
  const char* gather = R"((x: f32[3,2]) {
    i = constant i64[3] [2, 0, 1]
    y = gather(x, i)
    return y })";
  const char* parts = "(x: f32[3,2]) { a, b, c = split(x) {axis = 0, sizes = [1, 1, 1]}\n";
  ExpectProved(gather, std::string(parts) + "y = concat(c, a, b) {axis = 0}\n return y }");
  ExpectRefuted(gather, std::string(parts) + "y = concat(c, b, a) {axis = 0}\n return y }");
}

TEST(ProveGraphs, ConstantsThatDifferAreNotRefutedAsInputs) {
  // The second constant is the first one, doubled. Both are too long to be written out as choices.
  const char* values =
      "[1.0, 5.0, 2.0, 8.0, 3.0, 1.0, 9.0, 4.0, 7.0, 7.0, 2.0, 1.0, 0.0, 6.0, 5.0, 3.0, 2.0, 4.0]";
  const char* twice =
      "[2.0, 10.0, 4.0, 16.0, 6.0, 2.0, 18.0, 8.0, 14.0, 14.0, 4.0, 2.0, 0.0, 12.0, 10.0, 6.0, "
      "4.0, 8.0]";
  const std::string one = "(x: f32[18]) { c = constant f32[18] " + std::string(values) +
                          "\n d = add(c, c)\n y = mul(x, d)\n return y }";
  ExpectUnknown(one, "(x: f32[18]) { c = constant f32[18] " + std::string(twice) +
                         "\n y = mul(x, c)\n return y }");
  ExpectRefuted(one, "(x: f32[18]) { c = constant f32[18] " + std::string(values) +
                         "\n y = mul(x, c)\n return y }");
}

TEST(ProveGraphs, WeightsGoByNameAndValue) {
  const char* a = "(x: f32[2], w: weight f32[2] = [1.0, 2.0]) { y = mul(x, w)\n return y }";
  ExpectProved(a, "(x: f32[2], w: weight f32[2] = [1.0, 2.0]) { y = mul(w, x)\n return y }");
  ExpectRefuted(a, "(x: f32[2], w: weight f32[2] = [1.0, 3.0]) { y = mul(w, x)\n return y }");
  // A weight folded into another one: true for these values, but the values of weights are not
  // used.
  EXPECT_FALSE(IsRefuted(ProveTexts(
      "(x: f32[2], w: weight f32[2] = [1.0, 2.0]) { v = add(w, w)\n y = mul(x, v)\n return y }",
      "(x: f32[2], v: weight f32[2] = [2.0, 4.0]) { y = mul(x, v)\n return y }")));
}

TEST(ProveGraphs, BytesWrapAndSaturate) {
  ExpectRefuted("(x: u8[4]) { y = add(x, x)\n z = cast(y) {dtype = \"i64\"}\n return z }",
                "(x: u8[4]) { y = cast(x) {dtype = \"i64\"}\n z = mul(y, y)\n return z }");
  // Equal unless values exceed 8 bits.
  ExpectUnknown(
      "(x: i64[4]) { y = cast(x) {dtype = \"u8\"}\n z = cast(y) {dtype = \"i64\"}\n"
      "return z }",
      "(x: i64[4]) { z = add(x, x)\n w = sub(z, x)\n return w }");
  ExpectRefuted(
      "(x: f32[4]) { y = cast(x) {dtype = \"u8\"}\n z = cast(y) {dtype = \"f32\"}\n"
      "return z }",
      "(x: f32[4]) { y = cast(x) {dtype = \"i64\"}\n z = cast(y) {dtype = \"f32\"}\n"
      "return z }");
  ExpectProved(
      "(x: u8[2,3]) { y = transpose(x) {perm = [1,0]}\n z = transpose(y) {perm = "
      "[1,0]}\n w = relu(z)\n return w }",
      "(x: u8[2,3]) { w = relu(x)\n return w }");
}

TEST(ProveGraphs, NarrowSumsMayWrap) {
  const std::string text =
      "(l: # [4]) { k = constant #[] fill 1\n s = add(l, k)\n b = greater(s, l)\n return b }";
  const std::string always = "(l: # [4]) { b = equal(l, l)\n return b }";
  auto of = [](const std::string& t, const char* type) {
    return absl::StrReplaceAll(t, {{"# ", type}, {"#", type}});
  };
  EXPECT_TRUE(IsProved(ProveTexts(of(text, "i64"), of(always, "i64"))));
  EXPECT_FALSE(IsProved(ProveTexts(of(text, "i32"), of(always, "i32"))));
  EXPECT_FALSE(IsProved(ProveTexts(of(text, "u8"), of(always, "u8"))));
}

TEST(ProveGraphs, RoundingKeepsOrder) {
  const char* clip_first =
      "(x: f32[6]) { a = clip(x) {min = 0.0, max = 255.0}\n y = round(a)\n return y }";
  ExpectProved(clip_first,
               "(x: f32[6]) { a = round(x)\n y = clip(a) {min = 0.0, max = 255.0}\n return y }");
  ExpectProved("(x: f32[6]) { a = clip(x) {min = -0.5, max = 3.0}\n y = floor(a)\n return y }",
               "(x: f32[6]) { a = floor(x)\n y = clip(a) {min = -1.0, max = 3.0}\n return y }");
  ExpectRefuted("(x: f32[6]) { a = clip(x) {min = -0.5, max = 3.0}\n y = ceil(a)\n return y }",
                "(x: f32[6]) { a = ceil(x)\n y = clip(a) {min = -1.0, max = 3.0}\n return y }");
  ExpectRefuted("(x: f32[6]) { a = neg(x)\n b = floor(a)\n y = neg(b)\n return y }",
                "(x: f32[6]) { y = floor(x)\n return y }");
  ExpectRefuted(clip_first,
                "(x: f32[6]) { a = floor(x)\n y = clip(a) {min = 0.0, max = 255.0}\n return y }");
}

TEST(ProveGraphs, WhatBothComputeNeedsNoProof) {
  // A function without a definition, applied to the same operand.
  const char* common = "(x: f32[4]) { t = abs(x)\n o: f32[4] = opaque(t) {op_type = \"Magic\"}\n";
  ExpectProved(std::string(common) + "y = add(o, t)\n return y }",
               std::string(common) + "y = add(t, o)\n return y }");
  EXPECT_NE(Reason(ProveTexts(std::string(common) + "y = add(o, t)\n return y }",
                              "(x: f32[4]) { o: f32[4] = opaque(x) {op_type = \"Magic\"}\n y = "
                              "add(x, o)\n return y }"))
                .find("opaque"),
            std::string::npos);
}

TEST(ProveGraphs, SaysWhyGraphsCannotBeCompared) {
  const char* one = "(x: f32[2]) { y = relu(x)\n return y }";
  EXPECT_EQ(Reason(ProveTexts(one, "(x: f32[2], z: f32[2]) { y = relu(x)\n return y }")),
            "the graphs have 1 and 2 inputs");
  EXPECT_EQ(Reason(ProveTexts(one, "(x: f32[3]) { y = relu(x)\n return y }")),
            "input 0 is x: f32[2] in one graph and x: f32[3] in the other");
  EXPECT_EQ(Reason(ProveTexts(one, "(x: f32[2]) { y = relu(x)\n return y, x }")),
            "the graphs have 1 and 2 outputs");
  EXPECT_EQ(Reason(ProveTexts(one, "(x: f32[2]) { y = reshape(x) {shape = [1,2]}\n return y }")),
            "output 0 is y: f32[2] in one graph and y: f32[1,2] in the other");
  EXPECT_EQ(Reason(ProveTexts("(x: f32[0]) { y = relu(x)\n return y }",
                              "(x: f32[0]) { y = neg(x)\n return y }")),
            "input x: f32[0] has no elements, which no proof covers");
}

TEST(ProveGraphs, RoundingDoesNotRefute) {
  // In double, x / 3 * 3 is not x for some x.
  EXPECT_FALSE(IsRefuted(
      ProveTexts("(x: f32[64]) { k = constant f32[] fill 3.0\n a = div(x, k)\n b = mul(a, k)\n"
                 "c = equal(b, x)\n y = cast(c) {dtype = \"f32\"}\n return y }",
                 "(x: f32[64]) { c = equal(x, x)\n y = cast(c) {dtype = \"f32\"}\n return y }")));
  // 1/6, and its value in f32.
  EXPECT_FALSE(IsRefuted(ProveTexts(
      "(x: f32[64]) { y = hard_swish(x)\n return y }",
      "(x: f32[64]) { h = hard_sigmoid(x) {alpha = 0.16666667}\n y = mul(x, h)\n return y }")));
}

}  // namespace
}  // namespace lemma
