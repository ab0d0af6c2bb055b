// A fault in one layer of many: the referee finds the only place where the models differ, however
// little it changes the outputs, and does not take equal models for different ones.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/verifier/referee/referee_testutil.h"

namespace lemma {
namespace {

constexpr int kLayers = 6;

// A chain of layers over one weight each. `names`: what the layers' values are called.
std::string Chain(const std::string& names, const std::vector<std::vector<float>>& weights) {
  std::string text = "(x: f32[3,16]", body, last = "x";
  for (int i = 0; i < kLayers; ++i) {
    absl::StrAppend(&text, ", w", i, ": weight f32[16,16] = ", Listed(weights[i]));
    const std::string p = absl::StrCat("p", names, i), r = absl::StrCat("r", names, i);
    absl::StrAppend(&body, p, " = matmul(", last, ", w", i, ")\n", r, " = leaky_relu(", p,
                    ") {alpha = 0.1}\n");
    last = r;
  }
  return absl::StrCat(text, ") { ", body, " y = tanh(", last, ")\n return y }");
}

std::vector<std::vector<float>> Weights() {
  std::vector<std::vector<float>> weights;
  for (uint64_t i = 0; i < kLayers; ++i) weights.push_back(RandomFloats(256, 50 + i, -0.3, 0.3));
  return weights;
}

TEST(IsolateTest, OneLayerIsAnotherOne) {
  const std::string before = Chain("", Weights());
  ASSERT_EQ(Summary(JudgeTexts(before, Chain("n", Weights()))), "proved bit_exact");
  // Names may be lost: then values that are computed from the same operands are tried.
  for (const std::string names : {"", "n"}) {
    const std::string after = Chain(names, Weights());
    for (const int layer : {0, 2, 5}) {
      const std::string node = absl::StrCat("leaky_relu(p", names, layer, ") {alpha = ");
      const std::string wrong = absl::StrReplaceAll(
          after, {{absl::StrCat(node, "0.1}"), absl::StrCat(node, "0.10001}")}});
      ASSERT_NE(wrong, after);
      const auto result = JudgeTexts(before, wrong);
      ASSERT_EQ(Summary(result), "refuted") << layer;
      EXPECT_TRUE(result.refutation->only_here);
      EXPECT_FALSE(result.refutation->by_weights);
      ASSERT_TRUE(result.refutation->pair.has_value());
      EXPECT_EQ(result.refutation->pair->before_label, absl::StrCat("r", layer));
      EXPECT_EQ(result.refutation->pair->after_label, absl::StrCat("r", names, layer));
      EXPECT_GT(result.refutation->pair->difference, result.refutation->pair->explained);
    }
  }
}

// The outputs decide, and no names are the same, but the whole chain is no place: the layer is
// found by execution.
TEST(IsolateTest, AnOutputThatIsFarOffHasAPlaceToo) {
  const std::string after = Chain("n", Weights());
  const std::string wrong = absl::StrReplaceAll(
      after, {{"leaky_relu(pn3) {alpha = 0.1}", "leaky_relu(pn3) {alpha = -9.0}"}});
  ASSERT_NE(wrong, after);
  const auto result = JudgeTexts(Chain("", Weights()), wrong);
  ASSERT_EQ(Summary(result), "refuted");
  ASSERT_GT(std::abs(result.refutation->before - result.refutation->after),
            100 * result.refutation->explained);
  ASSERT_TRUE(result.refutation->pair.has_value());
  EXPECT_LE(result.refutation->pair->after.nodes().size(), 4u);
  EXPECT_EQ(result.refutation->pair->before_label, "r3");
  EXPECT_EQ(result.refutation->pair->after_label, "rn3");
}

// The value after the fault has no name in the second graph, but the one computed from it has.
TEST(IsolateTest, AValueWithoutANameIsNamedByTheNextOne) {
  const std::string after = Chain("n", Weights());
  const std::string wrong =
      absl::StrReplaceAll(after, {{"pn2 = matmul(rn1, w2)", "%0 = tanh(rn1)"}, {"(pn2)", "(%0)"}});
  ASSERT_NE(wrong, after);
  const auto result = JudgeTexts(Chain("", Weights()), wrong);
  ASSERT_EQ(Summary(result), "refuted");
  ASSERT_TRUE(result.refutation->pair.has_value());
  EXPECT_EQ(result.refutation->pair->before_label, "p2");
  EXPECT_EQ(result.refutation->pair->after_label, "rn2");
}

// One number that all layers use: no place is the only one.
TEST(IsolateTest, AllLayersUseAnotherNumber) {
  const std::string before = Chain("", Weights());
  for (const std::string names : {"", "n"}) {
    const std::string wrong =
        absl::StrReplaceAll(Chain(names, Weights()), {{"alpha = 0.1}", "alpha = 0.10003}"}});
    const auto result = JudgeTexts(before, wrong);
    ASSERT_EQ(Summary(result), "refuted");
    EXPECT_TRUE(result.refutation->only_here);
    EXPECT_EQ(result.refutation->places, kLayers);
    ASSERT_TRUE(result.refutation->pair.has_value());
    EXPECT_EQ(result.refutation->pair->before_label, "r0");
  }
}

// The effects add up, so that later values of both graphs are not alike.
TEST(IsolateTest, AllLayersUseAVeryDifferentNumber) {
  const std::string before = Chain("", Weights());
  const std::string wrong = absl::StrReplaceAll(before, {{"alpha = 0.1}", "alpha = 0.102}"}});
  const auto result = JudgeTexts(before, wrong);
  ASSERT_EQ(Summary(result), "refuted");
  EXPECT_EQ(result.refutation->places, kLayers);
  ASSERT_TRUE(result.refutation->pair.has_value());
  EXPECT_EQ(result.refutation->pair->before_label, "r0");
}

// `after` multiplies by the wrong operand, so that a column takes the place of a matrix. Values of
// one type come again much later.
TEST(IsolateTest, AValueHasAnotherType) {
  const std::string before = R"((x: f32[3,16], s: f32[3,1]) {
    e = exp(s)
    m = mul(x, e)
    a = sigmoid(m)  b = tanh(a)  c = exp(b)  d = sigmoid(c)  f = tanh(d)
    r = reduce_sum(f) {axes = [1], keepdims = 1}
    y = exp(r)
    return y
  })";
  const auto result = JudgeTexts(before, absl::StrReplaceAll(before, {{"mul(x, e)", "mul(e, e)"}}));
  ASSERT_EQ(Summary(result), "refuted");
  ASSERT_TRUE(result.refutation->pair.has_value());
  EXPECT_EQ(result.refutation->pair->before_label, "m");
  EXPECT_EQ(result.refutation->pair->after_label, "m");
  EXPECT_TRUE(std::isinf(result.refutation->pair->difference));
  EXPECT_EQ(result.refutation->pair->before.outputs()[0].type().ToString(), "f32[3,16]");
  EXPECT_EQ(result.refutation->pair->after.outputs()[0].type().ToString(), "f32[3,1]");
}

// A number that changes nothing in some layers on the inputs tried: no assumption about values
// helps there, but with the right number everything is proved.
TEST(IsolateTest, ANumberThatDoesNotMatterEverywhere) {
  std::string before = "(x: f32[3,16]) {\n", last = "x";
  for (int i = 0; i < kLayers; ++i) {
    // Each layer halves, so only the first ones reach the limit.
    absl::StrAppend(&before, " c", i, " = clip(", last, ") {max = 0.75, min = -0.75}\n h", i,
                    " = constant f32[] fill 0.5\n m", i, " = mul(c", i, ", h", i, ")\n");
    last = absl::StrCat("m", i);
  }
  absl::StrAppend(&before, " return ", last, " }");
  const std::string after = absl::StrReplaceAll(before, {{"max = 0.75", "max = 0.76"}});
  const auto result = JudgeTexts(before, after);
  ASSERT_EQ(Summary(result), "refuted");
  EXPECT_TRUE(result.refutation->only_here);
  EXPECT_EQ(result.refutation->places, kLayers);
  EXPECT_EQ(result.refutation->pair->before_label, "c0");
}

// x * 3 and x / 3: neither place is like the one before, but together they change nothing.
TEST(IsolateTest, PlacesThatMakeGoodForEachOtherAreNoFault) {
  const std::string weights =
      absl::StrCat("(x: f32[3,16], w: weight f32[16,16] = ", Listed(RandomFloats(256, 50)), ") { ");
  const std::string before =
      weights +
      "a = tanh(x)\n c = constant f32[] fill 1.0001\n s = mul(a, c)\n p = matmul(s, w)\n"
      " d = constant f32[] fill 0.9999\n y = mul(p, d)\n return y }";
  const std::string after =
      weights +
      "a = tanh(x)\n c = constant f32[] fill 0.9999\n s = mul(a, c)\n p = matmul(s, w)\n"
      " d = constant f32[] fill 1.0001\n y = mul(p, d)\n return y }";
  EXPECT_EQ(Summary(JudgeTexts(before, after)), "proved reassociates");
}

TEST(IsolateTest, OneElementOfAWeightInTheMiddle) {
  const std::string before = Chain("", Weights());
  for (const float factor : {1 + 0x1p-19f, 1 - 0x1p-18f, 1.5f, -1.0f, 0.0f}) {
    for (const int layer : {0, 3, 5}) {
      auto weights = Weights();
      weights[layer][37] *= factor;
      const auto result = JudgeTexts(before, Chain("", weights));
      ASSERT_EQ(Summary(result), "refuted") << layer << " " << factor;
      // A large difference of the outputs needs no proof of the rest.
      EXPECT_EQ(result.refutation->only_here, result.refutation->by_weights);
      EXPECT_TRUE(result.refutation->only_here || std::abs(factor - 1) > 1e-3f);
      if (!result.refutation->only_here) continue;
      ASSERT_EQ(result.strange_weights.size(), 1);
      EXPECT_EQ(result.strange_weights[0].after, absl::StrCat("w", layer));
      EXPECT_EQ(result.strange_weights[0].index, (std::vector<int64_t>{2, 5}));
    }
  }
}

TEST(IsolateTest, OneElementOfATransposedWeight) {
  std::vector<float> w = RandomFloats(64, 3);
  auto model = [](const std::vector<float>& weight) {
    return absl::StrCat("(x: f32[4,8], w: weight f32[8,8] = ", Listed(weight),
                        ") { t = transpose(w) {perm = [1, 0]}\n p = matmul(x, t)\n"
                        " y = tanh(p)\n return y }");
  };
  const std::string before = model(w);
  w[7] *= 1 + 0x1p-18F;
  const auto result = JudgeTexts(before, model(w));
  ASSERT_EQ(Summary(result), "refuted");
  EXPECT_TRUE(result.refutation->by_weights);
}

// A fault that no output sees refutes nothing.
TEST(IsolateTest, AFaultThatDoesNotMatter) {
  const std::string model =
      "(x: f32[4,8], w: weight f32[8,8] = W, m: weight f32[8] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,"
      " 0.0]) { p = matmul(x, w)\n q = tanh(p)\n y = mul(q, m)\n return y }";
  std::vector<float> w = RandomFloats(64, 3);
  const std::string before = absl::StrReplaceAll(model, {{"W", Listed(w)}});
  w[7] *= 2;  // in the last column
  const auto result = JudgeTexts(before, absl::StrReplaceAll(model, {{"W", Listed(w)}}));
  EXPECT_NE(result.answer, referee::Answer::kRefuted);
}

// Integers cannot be compared in double; the verdict is open then.
TEST(IsolateTest, OutputsThatAreNoFloats) {
  const std::string before =
      "(x: f32[2,8]) { r = relu(x)\n y = cast(r) {dtype = \"i64\"}\n return y }";
  const std::string after = absl::StrReplaceAll(before, {{"relu(x)", "abs(x)"}});
  EXPECT_NE(JudgeTexts(before, after).answer, referee::Answer::kProved);
}

// Two weights may make good for each other, exactly or up to their rounding.
TEST(IsolateTest, WeightsThatMakeGoodForEachOther) {
  for (const float factor : {2.0F, 3.0F}) {
    auto weights = Weights();
    for (float& x : weights[2]) x *= factor;
    for (float& x : weights[3]) x /= factor;
    const auto result = JudgeTexts(Chain("", Weights()), Chain("", weights));
    EXPECT_NE(result.answer, referee::Answer::kRefuted) << Summary(result);
  }
}

// A softmax takes away what is added to all elements of a row.
TEST(IsolateTest, AWeightThatCancelsDoesNotMatter) {
  auto model = [](float shift) {
    return absl::StrCat("(x: f32[4,8], w: weight f32[4,1] = ", Listed({0.25F, shift, 0.5F, -1.5F}),
                        ") { s = sub(x, w)\n y = softmax(s) {axis = 1}\n return y }");
  };
  const auto result = JudgeTexts(model(0.75F), model(0.8F));
  EXPECT_NE(result.answer, referee::Answer::kRefuted) << Summary(result);
}

// Equal models whose values of one name differ, and which the prover may not know to be equal.
TEST(IsolateTest, WhatALaterValueMakesGoodIsNoFault) {
  const std::string before =
      "(x: f32[4,8]) { c = constant f32[] fill 3.0\n t = mul(x, c)\n u = cos(t)\n e = constant "
      "f32[]"
      " fill 1e-5\n v = mul(u, u)\n w = add(v, e)\n y = sqrt(w)\n return y }";
  // cos(3x) = 4 cos(x)^3 - 3 cos(x); w is v here, and the other way round.
  const std::string after =
      "(x: f32[4,8]) { c = constant f32[] fill 3.0\n t = cos(x)\n f = constant f32[] fill 4.0\n"
      " a = mul(t, t)\n b = mul(a, t)\n d = mul(b, f)\n g = mul(t, c)\n u = sub(d, g)\n"
      " e = constant f32[] fill 1e-5\n w = mul(u, u)\n v = add(w, e)\n y = sqrt(v)\n return y }";
  const auto result = JudgeTexts(before, after);
  EXPECT_NE(result.answer, referee::Answer::kRefuted) << Summary(result);
  const auto wrong = JudgeTexts(before, absl::StrReplaceAll(after, {{"1e-5", "1e-4"}}));
  EXPECT_NE(wrong.answer, referee::Answer::kProved) << Summary(wrong);
}

}  // namespace
}  // namespace lemma
