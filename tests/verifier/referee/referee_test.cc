// What the referee proves, refutes and leaves open, on small models.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/verifier/referee/referee_testutil.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(RefereeTest, AFoldedNormalizationReassociates) {
  const ConvNorm model;
  const auto result =
      JudgeTexts(model.Text(), ConvNorm::FoldedText(model.FoldedWeight(), model.FoldedBias()));
  EXPECT_EQ(Summary(result), "proved reassociates");
  ASSERT_EQ(result.weights.size(), 2);
  for (const auto& weight : result.weights) {
    EXPECT_FALSE(weight.exact);
    EXPECT_LE(weight.ulps, 8);
  }
  EXPECT_EQ(result.regions.size(), 1);
}

// The models differ by the rounding of the folded weights. With relu(y) in the place of y, they are
// equal too, since relu(relu(y)) = relu(y), and these two values differ much: no fault.
TEST(RefereeTest, UnfoldingIsNoFault) {
  const ConvNorm model;
  const std::string before = ConvNorm::FoldedText(model.FoldedWeight(), model.FoldedBias());
  EXPECT_NE(Summary(JudgeTexts(before, model.Text())), "refuted");
  const auto behind_tanh = [](const std::string& text) {
    return absl::StrReplaceAll(text, {{") { ", ") { t = tanh(x)\n "}, {"conv2d(x,", "conv2d(t,"}});
  };
  EXPECT_NE(Summary(JudgeTexts(behind_tanh(before), behind_tanh(model.Text()))), "refuted");
}

// The time is up long before all cuts of the unfolded normalization are tried, unless the machine
// is very fast.
TEST(RefereeTest, SaysWhatIsOpenWhenTheTimeIsUp) {
  const ConvNorm model;
  const auto result =
      JudgeTexts(ConvNorm::FoldedText(model.FoldedWeight(), model.FoldedBias()), model.Text(), 2);
  EXPECT_THAT(Summary(result), StartsWith("unknown: "));
  ASSERT_FALSE(result.open.empty());
  EXPECT_FALSE(result.open.front().reason.empty());
  ASSERT_EQ(result.notes.size(), 1);
  EXPECT_EQ(result.notes[0],
            "the second model has 3 operators and the first one 2, but the first model is expected "
            "to be the original");
}

// A weight just outside of its interval changes the result by less than rounding does, so nothing
// refutes it; it must not be proved.
// As in a fresh model: scale and variance are one weight, and so are shift and mean. The folded
// convolution is nearly the one before, and of its name.
TEST(RefereeTest, ANormalizationWithDefaultParameters) {
  const std::vector<float> w = RandomFloats(4 * 3 * 3 * 3, 1), bias = RandomFloats(4, 2);
  const float scale = 1 / std::sqrt(1 + 1e-5f);
  auto scaled = [&](std::vector<float> values) {
    for (float& x : values) x *= scale;
    return values;
  };
  const auto result = JudgeTexts(
      absl::StrCat("(x: f32[1,3,6,6], w: weight f32[4,3,3,3] = ", Listed(w),
                   ", b: weight f32[4] = ", Listed(bias),
                   ", s: weight f32[4] = fill 1.0, m: weight f32[4] = fill 0.0) {"
                   " c = conv2d(x, w, b) {pads = [1,1,1,1]}\n n = batch_norm(c, s, m, m, s)"
                   " {epsilon = 1e-05}\n y = relu(n)\n return y }"),
      ConvNorm::FoldedText(scaled(w), scaled(bias)));
  EXPECT_EQ(Summary(result), "proved reassociates");
}

TEST(RefereeTest, AWeightOutsideOfItsInterval) {
  const ConvNorm model;
  for (size_t i : {size_t{0}, size_t{40}, size_t{107}}) {
    std::vector<float> w = model.FoldedWeight();
    w[i] *= 1 + 0x1p-19f;
    const auto result = JudgeTexts(model.Text(), ConvNorm::FoldedText(w, model.FoldedBias()));
    ASSERT_EQ(Summary(result), "refuted");
    EXPECT_TRUE(result.refutation->only_here && result.refutation->by_weights);
    ASSERT_EQ(result.strange_weights.size(), 1);
    EXPECT_EQ(result.strange_weights[0].after, "f");
    EXPECT_EQ(result.strange_weights[0].outside, 1);
  }
}

TEST(RefereeTest, WrongFoldsAreRefuted) {
  const ConvNorm model;
  const std::vector<float> w = model.FoldedWeight(), bias = model.FoldedBias();
  std::vector<float> other = bias;
  std::swap(other[0], other[1]);
  EXPECT_EQ(Summary(JudgeTexts(model.Text(), ConvNorm::FoldedText(w, other))), "refuted");
  EXPECT_EQ(Summary(JudgeTexts(model.Text(), ConvNorm::FoldedText(model.w, bias))), "refuted");
  EXPECT_EQ(Summary(JudgeTexts(model.Text("0.001"), ConvNorm::FoldedText(w, bias))), "refuted");
  const auto result = JudgeTexts(model.Text(), ConvNorm::FoldedText(w, {0, 0, 0, 0}));
  EXPECT_EQ(Summary(result), "refuted");
  ASSERT_TRUE(result.refutation->pair.has_value());
  EXPECT_GT(result.refutation->pair->difference, 0.01);
}

TEST(RefereeTest, EqualGraphsAreBitExact) {
  const ConvNorm model;
  EXPECT_EQ(Summary(JudgeTexts(model.Text(), model.Text())), "proved bit_exact");
}

std::string Products(const std::vector<float>& w, const std::string& rest) {
  return absl::StrCat("(x: f32[2,3], a: f32[2,3], w: weight f32[3,4] = ", Listed(w), rest);
}

TEST(RefereeTest, SwappedOperands) {
  const std::string head = "(x: f32[2,3], a: f32[2,3]) { ";
  EXPECT_EQ(
      Summary(JudgeTexts(head + "y = sub(x, a)\n return y }", head + "y = sub(a, x)\n return y }")),
      "refuted");
  EXPECT_EQ(Summary(JudgeTexts(head + "s = add(x, a)\n y = relu(s)\n return y }",
                               head + "s = add(a, x)\n y = relu(s)\n return y }")),
            "proved bit_exact");
}

TEST(RefereeTest, TransposedWeightsAreCopies) {
  const std::vector<float> w = RandomFloats(12, 7);
  std::vector<float> t(12);
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = 0; j < 4; ++j) t[j * 3 + i] = w[i * 4 + j];
  }
  const std::string before = Products(w, ") { y = matmul(x, w)\n return y }");
  auto after = [](const std::vector<float>& v) {
    return absl::StrCat("(x: f32[2,3], a: f32[2,3], t: weight f32[4,3] = ", Listed(v),
                        ") { v = transpose(t) {perm = [1, 0]}\n y = matmul(x, v)\n return y }");
  };
  const auto result = JudgeTexts(before, after(t));
  EXPECT_EQ(Summary(result), "proved bit_exact");
  ASSERT_EQ(result.weights.size(), 1);
  EXPECT_TRUE(result.weights[0].exact);
  t[5] = std::nextafter(t[5], 2.0f);
  // One unit in the last place is too little for a refutation.
  EXPECT_THAT(Summary(JudgeTexts(before, after(t))), StartsWith("unknown"));
}

// The name says which weight it was, not how it lies in memory.
TEST(RefereeTest, ATransposedSquareOfTheSameName) {
  const std::vector<float> w = RandomFloats(16, 7);
  std::vector<float> t(16);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) t[j * 4 + i] = w[i * 4 + j];
  }
  const auto result = JudgeTexts(
      absl::StrCat("(x: f32[2,4], w: weight f32[4,4] = ", Listed(w),
                   ") { y = matmul(x, w)\n return y }"),
      absl::StrCat("(x: f32[2,4], w: weight f32[4,4] = ", Listed(t),
                   ") { v = transpose(w) {perm = [1, 0]}\n y = matmul(x, v)\n return y }"));
  EXPECT_EQ(Summary(result), "proved bit_exact");
}

// 2^53 + 1 is no double.
TEST(RefereeTest, LargeIntegersKeepTheirLastDigit) {
  auto before = [](const std::string& number) {
    return absl::StrCat("(x: i64[2,1]) { c = constant i64[2] [", number,
                        ", 1]\n r = reshape(c) {shape = [2, 1]}\n y = add(x, r)\n return y }");
  };
  auto after = [](const std::string& number) {
    return absl::StrCat("(x: i64[2,1]) { c = constant i64[2,1] [", number,
                        ", 1]\n y = add(x, c)\n return y }");
  };
  EXPECT_NE(JudgeTexts(before("9007199254740993"), after("9007199254740992")).answer,
            referee::Answer::kProved);
  EXPECT_EQ(JudgeTexts(before("3"), after("3")).answer, referee::Answer::kProved);
}

TEST(RefereeTest, ADroppedBias) {
  const std::vector<float> w = RandomFloats(12, 7), b = RandomFloats(4, 8);
  const std::string bias = absl::StrCat(", b: weight f32[4] = ", Listed(b));
  const auto result =
      JudgeTexts(Products(w, bias + ") { p = matmul(x, w)\n y = add(p, b)\n return y }"),
                 Products(w, ") { y = matmul(x, w)\n return y }"));
  EXPECT_EQ(Summary(result), "refuted");
}

TEST(RefereeTest, OtherInterfaces) {
  const std::string one = "(x: f32[2]) { y = relu(x)\n return y }";
  EXPECT_EQ(Summary(JudgeTexts(one, "(x: f32[3]) { y = relu(x)\n return y }")),
            "different_interface: input x is f32[2] before and f32[3] after; output y is f32[2] "
            "before and f32[3] after");
  EXPECT_EQ(Summary(JudgeTexts(one, "(x: f32[2], z: f32[2]) { y = add(x, z)\n return y }")),
            "different_interface: 1 and 2 inputs; new: z");
  EXPECT_EQ(Summary(JudgeTexts(one, "(x: f32[2]) { y = relu(x)\n z = neg(x)\n return y, z }")),
            "different_interface: 1 and 2 outputs; new: z");
}

TEST(RefereeTest, InputsCorrespondByName) {
  const std::string before = "(x: f32[2], z: f32[2]) { y = sub(x, z)\n return y }";
  EXPECT_EQ(Summary(JudgeTexts(before, "(z: f32[2], x: f32[2]) { y = sub(x, z)\n return y }")),
            "proved bit_exact");
  const auto renamed = JudgeTexts(before, "(u: f32[2], v: f32[2]) { y = sub(u, v)\n return y }");
  EXPECT_EQ(Summary(renamed), "proved bit_exact");
  ASSERT_EQ(renamed.notes.size(), 1);
  EXPECT_THAT(renamed.notes[0], HasSubstr("by position"));
}

TEST(RefereeTest, ANameAtAnotherPlaceIsAnotherInterface) {
  EXPECT_THAT(Summary(JudgeTexts("(x: f32[2]) { a = relu(x)\n b = abs(x)\n return a, b }",
                                 "(x: f32[2]) { c = relu(x)\n a = abs(x)\n return c, a }")),
              StartsWith("different_interface: output a is number 0 before and number 1 after"));
}

// The differences hide at inputs that are not drawn, so that only the proof could be wrong.
TEST(RefereeTest, NumbersInDoubleAreNotUnified) {
  const auto text = [](absl::string_view number) {
    return absl::StrCat("(x: f64[4], c: weight f64[] = fill ", number,
                        ") { a = mul(x, c)\n return a }");
  };
  EXPECT_EQ(Summary(JudgeTexts(text("0.3"), text("0.3"))), "proved bit_exact");
  EXPECT_THAT(Summary(JudgeTexts(text("0.3"), text("0.30000001"))),
              testing::Not(StartsWith("proved")));
}

// One model multiplies by two numbers, the other one by their rounded product.
TEST(RefereeTest, ProductsAndSumsOfNumbersAreRounded) {
  auto two = [](const std::string& op, float a, float b) {
    return absl::StrFormat(
        "(x: f32[3]) { c = constant f32[] [%.9g]\n d = constant f32[] [%.9g]\n y = %s(x, c)\n"
        " z = %s(y, d)\n return z }",
        a, b, op, op);
  };
  auto one = [](const std::string& op, float c) {
    return absl::StrFormat("(x: f32[3]) { c = constant f32[] [%.9g]\n y = %s(x, c)\n return y }", c,
                           op);
  };
  const float a = 0.3f, b = 0.7f;
  const std::string proved = "proved reassociates";
  EXPECT_EQ(Summary(JudgeTexts(two("mul", a, b), one("mul", a * b))), proved);
  EXPECT_EQ(Summary(JudgeTexts(one("mul", a * b), two("mul", a, b))), proved);
  EXPECT_EQ(JudgeTexts(two("add", a, b), one("add", a + b)).answer, referee::Answer::kProved);
  EXPECT_EQ(Summary(JudgeTexts(two("div", a, b), one("mul", 1 / (a * b)))).substr(0, 7), "unknown");
  // A reciprocal beside a number that would make a product of it.
  auto halves = [](const std::string& op, float c) {
    return absl::StrFormat(
        "(x: f32[3]) { c = constant f32[] [%.9g]\n h = constant f32[] [0.5]\n y = %s(x, c)\n"
        " e = erf(y)\n z = mul(e, h)\n return z }",
        c, op);
  };
  EXPECT_EQ(Summary(JudgeTexts(halves("div", 1.41421354f), halves("mul", 0.707106769f))), proved);
  // Two neighbors of which the difference matters are not both the product.
  auto both = [](float c, float d) {
    return absl::StrFormat(
        "(x: f32[3]) { c = constant f32[] [%.9g]\n d = constant f32[] [%.9g]\n y = mul(x, c)\n"
        " z = mul(x, d)\n u = sub(y, z)\n e = exp(x)\n v = mul(u, e)\n return v }",
        c, d);
  };
  const float other = std::nextafter(-a, 0.0f);
  EXPECT_NE(JudgeTexts(both(a, a), both(-a, other)).answer, referee::Answer::kProved);
  // 1e-6 beside the product is another number.
  EXPECT_NE(JudgeTexts(two("mul", a, b), one("mul", a * b * 1.000001f)).answer,
            referee::Answer::kProved);
}

TEST(RefereeTest, AZeroOfTheOtherSignIsAnotherWeight) {
  const auto text = [](absl::string_view zero) {
    return absl::StrCat("(x: f32[4], w: weight f32[4] = [", zero,
                        ", 1, 2, 3]) { a = mul(x, w)\n return a }");
  };
  EXPECT_THAT(Summary(JudgeTexts(text("0.0"), text("-0.0"))), testing::Not(StartsWith("proved")));
}

TEST(RefereeTest, NarrowTypesAreMoreThanRounding) {
  EXPECT_THAT(
      Summary(JudgeTexts(
          "(x: f32[4], z: f32[4]) { h = cast(x) {dtype = \"f16\"}\n a = cast(h) {dtype = \"f32\"}\n"
          " y = mul(a, z)\n return y }",
          "(x: f32[4], z: f32[4]) { h = cast(z) {dtype = \"f16\"}\n a = cast(h) {dtype = \"f32\"}\n"
          " y = mul(x, a)\n return y }")),
      testing::Not(StartsWith("proved")));
}

TEST(RefereeTest, ASumOfExactNumbersRoundsOnce) {
  const std::string before =
      "(x: f32[2], v: weight f32[2] = [1e8, 1.0], w: weight f32[2] = [-99999992.0, 0.5]) {\n"
      "  s = add(v, w)\n y = mul(x, s)\n return y }";
  const auto after = [](absl::string_view sum) {
    return absl::StrCat("(x: f32[2], s: weight f32[2] = [", sum,
                        ", 1.5]) { y = mul(x, s)\n return y }");
  };
  EXPECT_THAT(Summary(JudgeTexts(before, after("8.0"))), StartsWith("proved"));
  EXPECT_THAT(Summary(JudgeTexts(before, after("11.0"))), testing::Not(StartsWith("proved")));
}

// A function of a product that was folded: the error of the product counts once, and where the
// function is flat it hardly counts. The other half of the outputs hides the difference from
// executions, so that only the interval of the weight can show it.
TEST(RefereeTest, FoldedFunctionsOfLargeNumbers) {
  const std::vector<float> p = {123.4567f, 0.3f, -23.45678f, 1.5f},
                           f = {34.56789f, 0.7f, 123.45f, 2};
  auto model = [](const std::string& weights, const std::string& folded) {
    return absl::StrCat("(x: f32[4]", weights, ") { ", folded,
                        " a = add(x, e)\n k = constant f32[] fill 1e6\n b = mul(x, k)\n"
                        " y = concat(a, b) {axis = 0}\n return y }");
  };
  using Function = double (*)(double);
  const std::vector<std::pair<std::string, Function>> functions = {
      {"tanh", [](double x) { return std::tanh(x); }},
      {"erf", [](double x) { return std::erf(x); }},
      {"sin", [](double x) { return std::sin(x); }},
      {"cos", [](double x) { return std::cos(x); }}};
  for (const auto& [name, function] : functions) {
    const std::string before =
        model(absl::StrCat(", p: weight f32[4] = ", Listed(p), ", f: weight f32[4] = ", Listed(f)),
              absl::StrCat("t = mul(p, f)\n e = ", name, "(t)\n"));
    for (const bool wrong : {false, true}) {
      std::vector<float> values;
      for (size_t i = 0; i < p.size(); ++i) {
        values.push_back(static_cast<float>(function(p[i] * f[i])));
      }
      // Five roundings of the product, which is about 4268.
      if (wrong) values[0] -= 1.3e-3f;
      const auto result =
          JudgeTexts(before, model(absl::StrCat(", e: weight f32[4] = ", Listed(values)), ""));
      EXPECT_EQ(result.answer == referee::Answer::kProved, !wrong) << name << Summary(result);
    }
  }
}

// A gather reads the positions, not the weight, to find its elements.
TEST(RefereeTest, FoldedGathersReadTheirPositions) {
  const std::string head =
      "(x: f32[2], w: weight f32[4] = [0.0, 0.0, -3.0, 1.0]) { k = constant f32[] fill 1000.0\n"
      " s = sub(x, k)\n r = relu(s)\n i = constant i64[2] [2, 2]\n v = gather(w, i)\n";
  EXPECT_NE(JudgeTexts(head + " q = relu(v)\n y = mul(r, q)\n return y }",
                       head + " y = mul(r, v)\n return y }")
                .answer,
            referee::Answer::kProved);
  const std::vector<float> w = RandomFloats(6, 3);
  const std::string before = absl::StrCat(
      "(x: f32[2,3], w: weight f32[6] = ", Listed(w),
      ") { i = constant i64[3] [4, 0, 2]\n v = gather(w, i)\n t = constant f32[] fill 3.0\n"
      " u = mul(v, t)\n y = mul(x, u)\n return y }");
  auto after = [](const std::vector<float>& folded) {
    return absl::StrCat("(x: f32[2,3], u: weight f32[3] = ", Listed(folded),
                        ") { y = mul(x, u)\n return y }");
  };
  EXPECT_EQ(Summary(JudgeTexts(before, after({3 * w[4], 3 * w[0], 3 * w[2]}))),
            "proved reassociates");
  EXPECT_NE(JudgeTexts(before, after({3 * w[4], 3 * w[2], 3 * w[0]})).answer,
            referee::Answer::kProved);
}

// Real numbers that f16 does not hold.
TEST(RefereeTest, SixteenBitsBetweenOtherTypes) {
  const std::string integers =
      "(n: i64[3]) { v = cast(n) {dtype = \"f32\"}\n"
      " k = constant f32[] fill 1000.0\n t = mul(v, k)\n";
  EXPECT_NE(
      JudgeTexts(integers + " return t }", integers + " h = cast(t) {dtype = \"f16\"}\n"
                                                      " y = cast(h) {dtype = \"f32\"}\n return y }")
          .answer,
      referee::Answer::kProved);
  const std::string half =
      "(x: f16[3]) { v = cast(x) {dtype = \"f32\"}\n"
      " a = constant f32[] fill 1000.0\n b = constant f32[] fill 0.001\n"
      " t = mul(v, a)\n";
  EXPECT_NE(JudgeTexts(half + " u = mul(t, b)\n y = cast(u) {dtype = \"f16\"}\n return y }",
                       half + " h = cast(t) {dtype = \"f16\"}\n i = cast(h) {dtype = \"f32\"}\n"
                              " u = mul(i, b)\n y = cast(u) {dtype = \"f16\"}\n return y }")
                .answer,
            referee::Answer::kProved);
}

// Positions that are inside along one axis may be outside along another.
TEST(RefereeTest, ReadsAlongAnotherAxis) {
  const std::string head = "(x: f32[2,5], i: i64[3]) { u = gather(x, i) {axis = 1}\n";
  EXPECT_NE(
      JudgeTexts(head + " y = neg(u)\n return y }",
                 head + " v = gather(x, i) {axis = 0}\n s = reduce_sum(v) {axes = [0,1], keepdims "
                        "= 1}\n z = constant f32[] fill 0.0\n p = mul(s, z)\n n = neg(u)\n"
                        " y = add(n, p)\n return y }")
          .answer,
      referee::Answer::kProved);
}

// Values that are one value in the second graph, or that become one: two weights with one formula.
TEST(RefereeTest, ValuesThatAreComputedTwice) {
  EXPECT_EQ(
      Summary(JudgeTexts("(x: f32[4]) { a = tanh(x)\n b = exp(x)\n p = mul(a, b)\n q = mul(b, a)\n"
                         " return p, q }",
                         "(x: f32[4]) { a = tanh(x)\n b = exp(x)\n p = mul(a, b)\n"
                         " return p, q = p }")),
      "proved bit_exact");
  const std::vector<float> w = RandomFloats(20, 1), v = RandomFloats(20, 2);
  std::vector<float> product, other;
  for (size_t i = 0; i < w.size(); ++i) product.push_back(w[i] * v[i] * v[i]);
  other = product;
  other[3] = std::nextafter(other[3], 100.0f);
  const std::string inputs = "(x: f32[20], z: f32[20]";
  EXPECT_EQ(
      Summary(JudgeTexts(
          absl::StrCat(
              inputs, ", w: weight f32[20] = ", Listed(w), ", v: weight f32[20] = ", Listed(v),
              ") { t = mul(w, v)\n u = mul(t, v)\n a = mul(x, u)\n y = relu(a)\n s = neg(a)\n"
              " return y, s }"),
          absl::StrCat(inputs, ", u: weight f32[20] = ", Listed(product),
                       ", t: weight f32[20] = ", Listed(other),
                       ") { a = mul(x, u)\n b = mul(x, t)\n y = relu(a)\n s = neg(b)\n"
                       " return y, s }"))),
      "proved reassociates");
}

TEST(RefereeTest, CancellationIsNoRefutation) {
  EXPECT_NE(Summary(JudgeTexts("(x: f32[4], c: weight f32[] = fill 1e7) { a = add(x, c)\n"
                               " y = sub(a, c)\n return y }",
                               "(x: f32[4]) { y = relu(x)\n n = neg(x)\n m = relu(n)\n"
                               " z = sub(y, m)\n return z }")),
            "refuted");
}

TEST(RefereeTest, AnInfiniteWeightIsNoRealNumber) {
  EXPECT_THAT(Summary(JudgeTexts("(x: f32[2], w: weight f32[2] = [inf, 1.0]) { a = mul(x, w)\n"
                                 " b = mul(w, x)\n c = add(a, x)\n y = sub(c, b)\n return y }",
                                 "(x: f32[2], w: weight f32[2] = [inf, 1.0]) { y = mul(x, w)\n"
                                 " a = sub(y, y)\n z = add(a, x)\n return z }")),
              testing::Not(StartsWith("proved r")));
}

// Never proved while an output is not.
TEST(RefereeTest, EveryOutputCounts) {
  const std::string head = "(x: f32[2,3]) { a = relu(x)\n b = sigmoid(x)\n ";
  const auto result =
      JudgeTexts(head + "return a, b }", head + "d = relu(a)\n c = mul(b, b)\n return d, c }");
  EXPECT_EQ(Summary(result), "refuted");
  EXPECT_EQ(result.refutation->output, "b");
}

}  // namespace
}  // namespace lemma
