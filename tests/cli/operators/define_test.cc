// lemma define, --define in other commands, and generate --ops=FILE.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::HasSubstr;

constexpr char kOperators[] = R"(
operator cli_square(x: [s..]) onnx "com.example.Square" {
  y[i.. < s..] = x[i..] * x[i..]
  return y
}
operator cli_total(x: [m, n]) {scale: real = 1} {
  y[i < m] = scale * sum(k < n, x[i, k])
  return y
}
)";
constexpr char kModel[] =
    "graph g(x: f32[2,3]) { a = cli_square(x) b = cli_total(a) {scale = 2.0} return b }\n";

TEST(DefineTest, PrintsAndTriesEachOperator) {
  const std::string file = WriteTemp("ops.txt", kOperators);
  const LemmaResult outcome = RunLemma({"define", file});
  EXPECT_EQ(outcome.exit_status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("### cli_square(x)"));
  EXPECT_THAT(outcome.out, HasSubstr("y[i.. < s..] = x[i..] * x[i..]"));
  EXPECT_THAT(outcome.out, HasSubstr("Tried on 4 applications"));
  EXPECT_THAT(outcome.out, HasSubstr("the gradient from finite differences"));
  EXPECT_THAT(RunLemma({"define", file, "--json"}).out,
              HasSubstr(R"("name":"cli_total","differentiable":true,"applications":4)"));
}

TEST(DefineTest, ErrorsNameFileAndPlace) {
  const std::string file =
      WriteTemp("wrong.txt", "operator a(x: [n]) {\n  y[i < n] = x[i + 1]\n  return y\n}\n");
  const LemmaResult outcome = RunLemma({"define", file});
  EXPECT_EQ(outcome.exit_status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("wrong.txt:2:14: index 0 of x[…] may lie outside"));
  EXPECT_THAT(RunLemma({"define"}).err, HasSubstr("which FILE?"));
  EXPECT_THAT(RunLemma({"op", "relu", "--define=" + NewFolder() + "/missing.txt"}).err,
              HasSubstr("missing.txt"));
}

TEST(DefineTest, CommandsKnowTheOperators) {
  const std::string define = "--define=" + WriteTemp("ops.txt", kOperators);
  const std::string model = WriteTemp("model.txt", kModel);
  EXPECT_THAT(RunLemma({"run", model}).err, HasSubstr("there is no operator cli_square"));
  EXPECT_EQ(RunLemma({"run", model, define}).exit_status, 0);
  EXPECT_THAT(RunLemma({"op", "cli_total", define}).out, HasSubstr("### cli_total(x)"));
  const std::string other = WriteTemp(
      "other.txt",
      "graph g(x: f32[2,3]) { t = cli_total(x) s = mul(x, x) a = reduce_sum(s) {axes = [1]} "
      "b = add(a, a) return b }\n");
  const LemmaResult proved = RunLemma({"prove", model, other, define});
  EXPECT_EQ(proved.exit_status, 0) << proved.out << proved.err;
}

TEST(DefineTest, OnnxNodesAreReadAndWrittenAgain) {
  const std::string define = "--define=" + WriteTemp("ops.txt", kOperators);
  const std::string model = WriteTemp("model.txt", kModel), onnx = NewFolder() + "/model.onnx";
  const LemmaResult optimized = RunLemma({"optimize", model, define, "-o", onnx, "--seconds=1"});
  ASSERT_EQ(optimized.exit_status, 0) << optimized.err;
  EXPECT_THAT(RunLemma({"show", onnx, define}).out, HasSubstr("cli_total("));
  ExpectOneLine(RunLemma({"show", onnx}), {"Square of com.example", "no definition"});
  EXPECT_EQ(RunLemma({"run", onnx, define}).exit_status, 0);
  EXPECT_EQ(RunLemma({"run", onnx}).exit_status, 2);
}

TEST(DefineTest, AMeaningOfOnesOwnDoesNotReplaceLemmas) {
  const std::string define =
      "--define=" + WriteTemp("ops.txt",
                              "operator quick(x: [s..]) onnx \"com.microsoft.QuickGelu\" { "
                              "y[i.. < s..] = x[i..] return y }");
  const std::string onnx = NewFolder() + "/model.onnx";
  const std::string model = WriteTemp("m.txt", "graph g(x: f32[2]) { y = quick(x) return y }");
  const LemmaResult result =
      RunLemma({"optimize", model, define, "-o", onnx, "--seconds=1", "--certificate=none"});
  EXPECT_EQ(result.exit_status, 2) << result.out;
  EXPECT_THAT(result.err, HasSubstr("has a meaning in Lemma and another one in a file"));
}

TEST(DefineTest, RulesOverThemAreProvedOrRefuted) {
  const std::string define = "--define=" + WriteTemp("ops.txt", kOperators);
  const std::string rule =
      "rule scale_out(x: [m, n]) real_only { y = cli_total(x) {scale = s} return y } => "
      "{ t = cli_total(x) c = constant [] fill s y = mul(t, c) return y }\n";
  const LemmaResult proved = RunLemma({"verify", WriteTemp("rules.txt", rule), define});
  EXPECT_EQ(proved.exit_status, 0) << proved.out << proved.err;
  std::string wrong = rule;
  wrong.replace(wrong.find("mul(t"), 5, "add(t");
  EXPECT_EQ(RunLemma({"verify", WriteTemp("wrong.txt", wrong), define}).exit_status, 1);
}

// It ended in the prover with a signal.
TEST(DefineTest, AMaximumOverNoElements) {
  const std::string define =
      "--define=" + WriteTemp("ops.txt",
                              "operator cli_none(x: [n]) {\n"
                              "  y[i < n] = max(k < n where k > n, x[k])\n  return y\n}\n"
                              "operator cli_least(x: [n]) {\n"
                              "  y[i < n] = min(k < n where k > n, x[k])\n  return y\n}\n"
                              "operator cli_max(x: [n]) {\n"
                              "  y[i < n] = max(k < n, x[k])\n  return y\n}\n");
  const auto graph = [](const std::string& op) {
    return WriteTemp(op + ".txt", "graph g(x: f32[3]) { y = " + op + "(x) return y }");
  };
  EXPECT_EQ(RunLemma({"prove", graph("cli_none"), graph("cli_max"), define}).exit_status, 1);
  EXPECT_EQ(RunLemma({"prove", graph("cli_none"), graph("cli_least"), define}).exit_status, 1);
  EXPECT_EQ(RunLemma({"prove", graph("cli_none"), graph("cli_none"), define}).exit_status, 0);
}

TEST(DefineTest, AnOperatorSetMayBeAFile) {
  const std::string define = "--define=" + WriteTemp("ops.txt", kOperators);
  const std::string set = WriteTemp("set.txt",
                                    "input x: 2 of [2, 3]\n"
                                    "variant square(x: [b.., n]) { cli_square(x) }\n"
                                    "variant neg(x: [b.., n]) { neg(x) }\n"
                                    "variant total(x: [m, n]) { cli_total(x) {scale = 1.0} }\n");
  const std::string rules = NewFolder() + "/found.txt";
  const LemmaResult found =
      RunLemma({"generate", "--ops=" + set, define, "--max-ops=2", "-o", rules});
  ASSERT_EQ(found.exit_status, 0) << found.err;
  EXPECT_THAT(ReadAll(rules), HasSubstr(" --define=FILE\n# FILE defines: cli_square"));
  EXPECT_THAT(RunLemma({"generate", "--ops=" + set + ",nothing", define, "-o", rules}).err,
              HasSubstr("there is no operator variant 'nothing'"));
  const std::string wrong = WriteTemp("bad.txt", "input x: [2]\nvariant a(x: [n]) relu(x)\n");
  EXPECT_THAT(RunLemma({"generate", "--ops=" + wrong, "-o", rules}).err,
              HasSubstr("bad.txt:2:19: expected '{'"));
  const std::string unused = WriteTemp(
      "unused.txt",
      "input x: [2]\nvariant a(x: [n]) with {k = 1, j = 2} { reshape(x) {shape = [n, k]} }\n");
  EXPECT_THAT(RunLemma({"generate", "--ops=" + unused, "-o", rules}).err,
              HasSubstr("unused.txt:2:32: variant a does not use j"));
  const std::string twice = WriteTemp(
      "twice.txt",
      "input x: [2]\nvariant a(x: [n]) with {k = 1, k = 2} { reshape(x) {shape = [n, k]} }\n");
  EXPECT_THAT(RunLemma({"generate", "--ops=" + twice, "-o", rules}).err,
              HasSubstr("twice.txt:2:32: k has a value already"));
}

}  // namespace
}  // namespace lemma
