// Proofs that need to know how a weight was computed, or the signs of its elements.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/verifier/referee/referee_testutil.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// (x a) b as x (a b), a rule that says nothing of weights.
TEST(RuleFoldsTest, WhateverARuleMakesOfConstantsIsAFold) {
  const std::vector<float> a = RandomFloats(3 * 4, 1), b = RandomFloats(4 * 2, 2);
  std::vector<float> ab(3 * 2, 0);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t k = 0; k < 4; ++k) {
      for (size_t j = 0; j < 2; ++j) ab[i * 2 + j] += a[i * 4 + k] * b[k * 2 + j];
    }
  }
  const std::string before = absl::StrCat("(x: f32[5,3], a: weight f32[3,4] = ", Listed(a),
                                          ", b: weight f32[4,2] = ", Listed(b),
                                          ") {\n h = matmul(x, a)\n y = matmul(h, b)\n return y }");
  auto after = [](const std::vector<float>& w) {
    return absl::StrCat("(x: f32[5,3], w: weight f32[3,2] = ", Listed(w),
                        ") {\n y = matmul(x, w)\n return y }");
  };
  EXPECT_EQ(Summary(JudgeTexts(before, after(ab))), "proved reassociates");
  for (const float factor : {1 + 0x1p-18f, -1.0f}) {
    std::vector<float> other = ab;
    other[3] *= factor;
    EXPECT_THAT(Summary(JudgeTexts(before, after(other))), Not(StartsWith("proved"))) << factor;
  }
}

std::string WithWeight(const std::vector<float>& w, const std::string& body) {
  return absl::StrCat("(x: f32[40], w: weight f32[40] = ", Listed(w), ") {\n", body,
                      "\n return y }");
}

std::vector<float> Positive() {
  std::vector<float> w = RandomFloats(40, 3);
  for (float& x : w) x = x < 0 ? -x : x;
  w[7] = 0;
  return w;
}

// Judges relu(x w) against relu(x) w.
std::string ReluOfProduct(const std::vector<float>& w) {
  return Summary(JudgeTexts(WithWeight(w, "p = mul(x, w)\n y = relu(p)"),
                            WithWeight(w, "r = relu(x)\n y = mul(r, w)")));
}

TEST(KnownSignsTest, APositiveFactorPassesAReluAndNoOther) {
  EXPECT_THAT(ReluOfProduct(Positive()), StartsWith("proved"));
  for (const size_t i : {0, 20, 39}) {
    std::vector<float> w = Positive();
    w[i] = -0.5;
    EXPECT_EQ(ReluOfProduct(w), "refuted");
    w[i] = -0x1p-40;
    EXPECT_THAT(ReluOfProduct(w), Not(StartsWith("proved")));
    // -0 is no positive number: 0 becomes -0.
    w[i] = -0.0;
    EXPECT_THAT(ReluOfProduct(w), Not(HasSubstr("bit_exact")));
  }
}

TEST(KnownSignsTest, AWeightWithoutNegativeElementsIsItsRelu) {
  auto judged = [](const std::vector<float>& w, const std::string& function) {
    return Summary(JudgeTexts(WithWeight(w, absl::StrCat("f = ", function, "\n y = add(x, f)")),
                              WithWeight(w, "y = add(x, w)")));
  };
  std::vector<float> positive = Positive(), negative = positive;
  for (float& x : negative) x = -x;
  EXPECT_THAT(judged(positive, "relu(w)"), StartsWith("proved"));
  EXPECT_THAT(judged(positive, "abs(w)"), StartsWith("proved"));
  EXPECT_EQ(judged(negative, "relu(w)"), "refuted");
  EXPECT_EQ(judged(negative, "abs(w)"), "refuted");
  positive[11] = -positive[11];
  EXPECT_EQ(judged(positive, "relu(w)"), "refuted");
}

// m m = m for elements 0 and 1 only.
TEST(KnownSignsTest, AMaskIsItsSquare) {
  std::vector<float> mask(40);
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 3 == 0 ? 1 : 0;
  auto judged = [](const std::vector<float>& w) {
    return Summary(
        JudgeTexts(WithWeight(w, "p = mul(x, w)\n y = mul(p, w)"), WithWeight(w, "y = mul(x, w)")));
  };
  EXPECT_THAT(judged(mask), StartsWith("proved"));
  std::vector<float> other = mask;
  other[21] = 2;
  EXPECT_EQ(judged(other), "refuted");
  other[21] = -1;
  EXPECT_EQ(judged(other), "refuted");
  other[21] = 1 + 0x1p-20;
  EXPECT_THAT(judged(other), Not(StartsWith("proved")));
}

// Judges relu(x w) against relu(x) w, where w = a a - d is computed from weights: a a is
// 1 + 2^-11 + 2^-24 times a power of four, and `d` is multiplied by it too.
std::string ReluOfComputed(float d) {
  std::vector<float> as, ds;
  for (int i = 0; i < 40; ++i) {
    const float scale = static_cast<float>(1 << i % 3);
    as.push_back((1 + 0x1p-12f) * scale);
    ds.push_back(d * scale * scale);
  }
  const std::string head =
      absl::StrCat("(x: f32[40], a: weight f32[40] = ", Listed(as),
                   ", d: weight f32[40] = ", Listed(ds), ") {\n q = mul(a, a)\n w = sub(q, d)\n");
  return Summary(JudgeTexts(head + "p = mul(x, w)\n y = relu(p)\n return y }",
                            head + "r = relu(x)\n y = mul(r, w)\n return y }"));
}

TEST(KnownSignsTest, ASignThatRoundingMayChangeIsUnknown) {
  EXPECT_THAT(ReluOfComputed(0.5), StartsWith("proved"));
  // The exact w is positive; in f32 it may be 0 or negative, as `a a` is rounded.
  EXPECT_THAT(ReluOfComputed(1 + 0x1p-11f), Not(StartsWith("proved")));
  EXPECT_EQ(ReluOfComputed(1.5), "refuted");
}

}  // namespace
}  // namespace lemma
