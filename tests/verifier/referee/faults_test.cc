// Faults put into right optimizations of small models. None may be proved; most must be refuted.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "tests/verifier/referee/referee_testutil.h"

namespace lemma {
namespace {

struct Fault {
  std::string from, to;  // in the text of the optimized model
};

// An optimized model, the model that it was made from, and faults.
struct FaultCase {
  std::string before, after;
  std::vector<Fault> faults;
};

std::string Weight(const std::string& name, const std::string& type, int64_t size, uint64_t seed) {
  return absl::StrCat(", ", name, ": weight f32", type, " = ", Listed(RandomFloats(size, seed)));
}

FaultCase Convolutions() {
  const ConvNorm model;
  FaultCase c;
  c.before = model.Text();
  c.after = ConvNorm::FoldedText(model.FoldedWeight(), model.FoldedBias());
  c.faults = {
      {"pads = [1,1,1,1]", "pads = [2,1,0,1]"},
      {"pads = [1,1,1,1]", "pads = [1,2,1,0]"},
      {"pads = [1,1,1,1]", "pads = [2,2,2,2], dilations = [2,2]"},
      {"relu(c)", "leaky_relu(c) {alpha = 0.01}"},
      {"relu(c)", "abs(c)"},
      {"relu(c)", "clip(c) {min = 0.0, max = 1.0}"},
      {"relu(c)", "sigmoid(c)"},
      {"conv2d(x, f, g)", "conv2d(x, f)"},
  };
  return c;
}

// A two-layer perceptron with a residual.
FaultCase Perceptron() {
  const std::string weights = Weight("w", "[8,8]", 64, 11) + Weight("b", "[8]", 8, 12) +
                              Weight("v", "[8,8]", 64, 13) + Weight("d", "[8]", 8, 14);
  FaultCase c;
  c.before = absl::StrCat("(x: f32[4,8]", weights,
                          ") { p = matmul(x, w)\n q = add(p, b)\n r = relu(q)\n s = matmul(r, v)\n"
                          " t = add(s, d)\n u = add(t, x)\n y = tanh(u)\n return y }");
  c.after = absl::StrCat("(x: f32[4,8]", weights,
                         ") { p = matmul(x, w)\n q = add(b, p)\n r = relu(q)\n s = matmul(r, v)\n"
                         " t = add(x, d)\n u = add(s, t)\n y = tanh(u)\n return y }");
  c.faults = {
      {"add(b, p)", "sub(p, b)"},
      {"add(b, p)", "sub(b, p)"},
      {"add(b, p)", "add(d, p)"},
      {"relu(q)", "relu(p)"},
      {"relu(q)", "silu(q)"},
      {"matmul(r, v)", "matmul(r, w)"},
      {"matmul(r, v)", "matmul(q, v)"},
      {"add(x, d)", "add(r, d)"},
      {"add(x, d)", "add(x, b)"},
      {"add(s, t)", "mul(s, t)"},
      {"add(s, t)", "add(s, x)"},
      {"tanh(u)", "sigmoid(u)"},
      {"tanh(u)", "sin(u)"},
      {"matmul(x, w)", "matmul(x, v)"},
  };
  return c;
}

// Two products of one operand, merged.
FaultCase Merged() {
  const std::string weights = Weight("w", "[6,4]", 24, 21) + Weight("v", "[6,4]", 24, 22);
  FaultCase c;
  c.before = absl::StrCat("(x: f32[5,6]", weights,
                          ") { a = matmul(x, w)\n b = matmul(x, v)\n e = sigmoid(a)\n"
                          " y = mul(e, b)\n return y }");
  c.after = absl::StrCat("(x: f32[5,6]", weights,
                         ") { k = concat(w, v) {axis = 1}\n p = matmul(x, k)\n"
                         " a, b = split(p) {axis = 1, sizes = [4, 4]}\n e = sigmoid(a)\n"
                         " y = mul(e, b)\n return y }");
  c.faults = {
      {"concat(w, v)", "concat(v, w)"}, {"concat(w, v)", "concat(w, w)"},
      {"sigmoid(a)", "sigmoid(b)"},     {"mul(e, b)", "mul(e, a)"},
      {"mul(e, b)", "add(e, b)"},       {"sigmoid(a)", "tanh(a)"},
  };
  return c;
}

// Layer normalization written out, and attention's mask and scale.
FaultCase Attention() {
  FaultCase c;
  const std::string weights = Weight("g", "[8]", 8, 31) + Weight("h", "[8]", 8, 32);
  c.before = absl::StrCat(
      "(q: f32[2,3,8], k: f32[2,3,8]", weights,
      ") { t = transpose(k) {perm = [0,2,1]}\n s = matmul(q, t)\n c = constant f32[] fill 4.0\n"
      " d = div(s, c)\n p = softmax(d) {axis = 2}\n o = matmul(p, k)\n"
      " m = reduce_mean(o) {axes = [2], keepdims = 1}\n z = sub(o, m)\n v = mul(z, z)\n"
      " w = reduce_mean(v) {axes = [2], keepdims = 1}\n e = constant f32[] fill 0.001\n"
      " f = add(w, e)\n i = sqrt(f)\n j = div(z, i)\n n = mul(j, g)\n y = add(n, h)\n return y }");
  c.after = absl::StrCat(
      "(q: f32[2,3,8], k: f32[2,3,8]", weights,
      ") { t = transpose(k) {perm = [0,2,1]}\n c = constant f32[] fill 0.25\n r = mul(q, c)\n"
      " d = matmul(r, t)\n p = softmax(d) {axis = 2}\n o = matmul(p, k)\n"
      " y = layer_norm(o, g, h) {axis = 2, epsilon = 0.001}\n return y }");
  c.faults = {
      {"fill 0.25", "fill 0.5"},
      {"mul(q, c)", "div(q, c)"},
      {"softmax(d) {axis = 2}", "softmax(d) {axis = 1}"},
      {"matmul(p, k)", "matmul(p, q)"},
      {"layer_norm(o, g, h)", "layer_norm(o, h, g)"},
      {"layer_norm(o, g, h)", "layer_norm(q, g, h)"},
      {"epsilon = 0.001", "epsilon = 0.1"},
  };
  return c;
}

TEST(FaultsTest, NoFaultIsProved) {
  int faults = 0, refuted = 0;
  for (const FaultCase& c : {Convolutions(), Perceptron(), Merged(), Attention()}) {
    const auto right = JudgeTexts(c.before, c.after);
    EXPECT_EQ(right.answer, referee::Answer::kProved) << c.after << Summary(right);
    for (const Fault& fault : c.faults) {
      const std::string wrong = absl::StrReplaceAll(c.after, {{fault.from, fault.to}});
      ASSERT_NE(wrong, c.after) << fault.from;
      const auto result = JudgeTexts(c.before, wrong);
      EXPECT_NE(result.answer, referee::Answer::kProved) << fault.from << " -> " << fault.to;
      ++faults;
      refuted += result.answer == referee::Answer::kRefuted ? 1 : 0;
      if (result.answer == referee::Answer::kRefuted) continue;
      ADD_FAILURE() << fault.from << " -> " << fault.to << ": " << Summary(result);
    }
  }
  EXPECT_GE(faults, 30);
  EXPECT_EQ(refuted, faults);
}

// Each element of a folded weight, moved beyond what rounding explains, is seen.
TEST(FaultsTest, EveryFoldedWeightCounts) {
  const ConvNorm model;
  const std::string before = model.Text();
  for (size_t i = 0; i < model.w.size(); i += 9) {
    for (const float factor : {1 - 0x1p-20f, 1 + 0x1p-20f, 1.001f}) {
      std::vector<float> w = model.FoldedWeight();
      w[i] *= factor;
      const auto result = JudgeTexts(before, ConvNorm::FoldedText(w, model.FoldedBias()));
      EXPECT_NE(result.answer, referee::Answer::kProved) << i << " " << factor;
    }
  }
}

}  // namespace
}  // namespace lemma
