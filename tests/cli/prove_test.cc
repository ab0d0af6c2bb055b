// lemma prove: two graphs, fixed or symbolic.
#include <cstdio>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two products side by side, as they are and as one; `y` and `z` give the widths.
constexpr char kTwo[] =
    "graph two(x: f32[m,k], a: weight f32[k,p], b: weight f32[k,q]) {\n"
    "  u = matmul(x, a)\n  v = matmul(x, b)\n  y = concat(u, v) {axis = 1}\n  return y\n}\n";
// The same with weights in another order and with other names, one of them an input's name in kTwo.
constexpr char kOne[] =
    "graph one(input: f32[m,k], b: weight f32[k,q], a: weight f32[k,p]) {\n"
    "  x = concat(a, b) {axis = 1}\n  y = matmul(input, x)\n  return y\n}\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Replaces the symbols by sizes.
std::string Fixed(const std::string& text) {
  return Replaced(Replaced(Replaced(text, "m,k]", "2,3]"), "k,p]", "3,4]"), "k,q]", "3,4]");
}

LemmaResult Prove(const std::string& a, const std::string& b,
                  const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"prove", WriteTemp("a.lemma", a), WriteTemp("b.lemma", b)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunLemma(arguments);
}

TEST(ProveTest, ForAllSizes) {
  for (const auto& result : {Prove(kTwo, kOne), Prove(kOne, kTwo)}) {
    EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
    EXPECT_THAT(result.out, StartsWith("proved: "));
    EXPECT_THAT(result.out, HasSubstr("contract  bit_exact\nsizes     all sizes >= 1"));
    EXPECT_THAT(result.out, HasSubstr("proof id  "));
  }
}

TEST(ProveTest, AtItsShapes) {
  LemmaResult result = Prove(Fixed(kTwo), Fixed(kOne));
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, StartsWith("proved: "));
}

TEST(ProveTest, FindsACounterexample) {
  const std::string swapped = Replaced(kOne, "concat(a, b)", "concat(b, a)");
  LemmaResult result = Prove(kTwo, swapped);
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, StartsWith("refuted at k = "));
  result = Prove(Fixed(kTwo), Fixed(swapped), {"--json"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("\"symbolic\":false,\"verdict\":\"refuted\""));
}

TEST(ProveTest, ShowsTheInputsOfASmallCounterexample) {
  const std::string a = "graph a(x: f32[n], y: f32[n]) { z = sub(x, y) return z }";
  const std::string b = "graph b(x: f32[n], y: f32[n]) { z = sub(y, x) return z }";
  const LemmaResult result = Prove(a, b);
  double value, other, x, y;
  ASSERT_EQ(std::sscanf(result.out.c_str(),
                        "refuted at n = 1: output 0[0] is %lf and %lf, where the inputs are [%lf], "
                        "[%lf]",
                        &value, &other, &x, &y),
            4)
      << result.out;
  EXPECT_NEAR(x - y, value, 1e-5);
  EXPECT_NEAR(y - x, other, 1e-5);
  EXPECT_THAT(Prove(a, b, {"--json"}).out, HasSubstr("\"inputs\":[["));
}

TEST(ProveTest, DoesNotClaimWhatItDoesNotKnow) {
  // Equal as functions, by a law that the prover does not have.
  const std::string a = "graph a(x: f32[n]) { y = sinh(x) z = asinh(y) return z }";
  const std::string b = "graph b(x: f32[n]) { y = neg(x) z = neg(y) return z }";
  LemmaResult result = Prove(a, b);
  EXPECT_EQ(result.exit_status, 4);
  EXPECT_THAT(result.out, Not(HasSubstr("proved")));
}

TEST(ProveTest, EitherGraphMayBeTheSimplerOne) {
  const std::string twice = "graph a(x: f32[n]) { y = neg(x) z = neg(y) return z }";
  const std::string nothing = "graph b(x: f32[n]) { return x }";
  for (const auto& result : {Prove(twice, nothing), Prove(nothing, twice)}) {
    EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  }
}

// Names are resolved in each graph separately: inputs of the other graph are unknown here.
TEST(ProveTest, GraphsThatAreNone) {
  const std::string a = "graph a(z: f32[n], w: f32[n]) { y = sub(z, w) return y }";
  auto body = [](const std::string& text) { return "graph b(x: f32[n], v: f32[n]) " + text; };
  ExpectOneLine(Prove(a, body("{ y = sub(z, v) return y }")), {"b.lemma:1:", "no value z above"});
  ExpectOneLine(Prove(a, body("{ x = sub(x, v) return x }")), {"b.lemma:1:", "x is defined twice"});
  ExpectOneLine(Prove(a, "graph b(x: f32[n], x: f32[n]) { y = sub(x, x) return y }"),
                {"b.lemma:1:", "x is defined twice"});
  ExpectOneLine(Prove(body("{ y = neg(x) return y }"), body("{ y = neg(v) return y }")),
                {"a.lemma:1:", "one of the two graphs has to compute with every input"});
}

// Requirements of only one graph are named, also where a broadcast makes several forms.
TEST(ProveTest, SaysForWhichSizes) {
  const std::string a =
      "graph a(x: f32[a], u: f32[p], v: f32[q]) { y = neg(x) z = neg(y) s = add(u, v) "
      "return z, s }";
  const std::string b =
      "graph b(x: f32[a], u: f32[p], v: f32[q]) { y = reshape(x) {shape = [1]} z = reshape(y) "
      "{shape = [a]} s = add(v, u) return z, s }";
  LemmaResult result = Prove(a, b);
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 == a, what both sides require in each form, 3 forms\n"));
}

TEST(ProveTest, NamesShapesThatDiffer) {
  const std::string a = "graph a(shapes: f32[m,n]) { y = neg(shapes) return y }";
  const std::string b =
      "graph b(x: f32[m,n]) { y = neg(x) z = transpose(y) {perm = [1, 0]} return z }";
  EXPECT_THAT(Prove(a, b).out, HasSubstr("m = 1, n = 2: output 0 is of shape [1,2] and [2,1]"));
  EXPECT_THAT(Prove(a, b, {"--json"}).out,
              HasSubstr("\"source_shape\":[1,2],\"target_shape\":[2,1]"));
}

TEST(ProveTest, ReadsEveryFormat) {
  onnx::ModelProto model =
      OnnxModel("g (float[2,3] x) => (float[2,4] y) { a = MatMul(x, w) b = Relu(a) y = Relu(b) }");
  AddOnes(&model, "w", {3, 4});
  const std::string onnx = WriteTemp("a.onnx", model.SerializeAsString());
  const std::string text = WriteTemp("b.lemma",
                                     "graph g(x: f32[2,3], w: weight f32[3,4] = fill 1.0) { a = "
                                     "matmul(x, w) y = relu(a) return y }");
  const std::string proto = NewFolder() + "/b.pb";
  ASSERT_EQ(RunLemma({"optimize", text, "-o", proto, "--cost=analytic"}).exit_status, 0);
  EXPECT_EQ(RunLemma({"prove", onnx, text}).exit_status, 0);
  LemmaResult result = RunLemma({"prove", onnx, proto});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
}

TEST(ProveTest, OthersRepeatIt) {
  const std::string folder = NewFolder();
  LemmaResult result =
      Prove(kTwo, kOne, {"--check", "--recheck=cvc5", "--json", "--proofs", folder});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"symbolic\":true,\"verdict\":\"proved\""));
  EXPECT_THAT(result.out, HasSubstr("\"disagreed\":[]"));
  EXPECT_THAT(result.out, HasSubstr("\"steps_accepted\":true"));
  EXPECT_THAT(FilesIn(folder),
              ::testing::ElementsAre("two_equals_one.proof", "two_equals_one.smt2"));
}

TEST(ProveTest, BadInput) {
  const std::string two = WriteTemp("two.lemma", kTwo);
  ExpectOneLine(RunLemma({"prove", two}), {"two graphs, please"});
  ExpectOneLine(RunLemma({"prove", two, "/nowhere.onnx"}), {"/nowhere.onnx"});
  ExpectOneLine(RunLemma({"prove", two, WriteTemp("e.onnx", "")}), {"e.onnx", "empty"});
  ExpectOneLine(RunLemma({"prove", two, NewFolder()}), {"is a folder"});
  ExpectOneLine(
      RunLemma({"prove", two, WriteTemp("x.onnx", std::string("\x89PNG\r\n\x1a\n\0", 9))}),
      {"text form"});
  ExpectOneLine(Prove(kTwo, Replaced(kOne, "b: weight", "c: weight")),
                {"b.lemma:1:", "counterpart", "weights by name"});
  ExpectOneLine(Prove(kTwo, Replaced(kOne, "input: f32[m,k]", "input: f32[k,m]")),
                {"b.lemma:1:", "another type", "x"});
  ExpectOneLine(Prove(kTwo, Fixed(kOne)), {"another type"});
  ExpectOneLine(Prove(kTwo, std::string(kTwo) + kOne), {"one graph and nothing else"});
  ExpectOneLine(Prove(kTwo, "graph g(x: constant f32[2] = fill 1.0) { return x }"),
                {"constant is written in the body"});
  ExpectOneLine(Prove(Fixed(kTwo), Fixed(kOne), {"--check"}), {"--check"});
}

}  // namespace
}  // namespace lemma
