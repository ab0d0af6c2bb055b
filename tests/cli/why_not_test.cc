// lemma optimize --why-not and --explain.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"

namespace lemma {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two pairs of transposes, and a transpose followed by a relu.
std::string Model() {
  return WriteTemp("g.lemma", R"(graph g(x: f32[8,16], y: f32[8,16], z: f32[8,16]) {
    a = transpose(x) {perm = [1, 0]} b = transpose(a) {perm = [1, 0]} c = relu(b)
    d = transpose(y) {perm = [1, 0]} e = transpose(d) {perm = [1, 0]} f = neg(e)
    h = relu(z) i = transpose(h) {perm = [1, 0]}
    return c, f, i })");
}

LemmaResult WhyNot(const std::string& rule, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"optimize", Model(), "--cost=analytic", "--why-not", rule};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunLemma(arguments);
}

TEST(WhyNotTest, SaysWhereARuleAppliedAndWhereNot) {
  const LemmaResult result = WhyNot("transpose_of_transpose");
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out,
              StartsWith("rule transpose_of_transpose (transpose + transpose): applied 2 x\n"
                         "input: 5 x transpose\n"
                         "    2 x it applies, and the graph gets faster: -"));
  EXPECT_THAT(result.out, HasSubstr("\n          b, e\n"));
  EXPECT_THAT(result.out, HasSubstr("    2 x the operand of transpose is an input, not transpose\n"
                                    "          a, d\n"));
  EXPECT_THAT(result.out, HasSubstr("    1 x the operand of transpose is relu, not transpose\n"
                                    "          i\n"));
  EXPECT_THAT(result.out, HasSubstr("result: 1 x transpose\n"));
}

TEST(WhyNotTest, SaysIfOneThingIsMissing) {
  const std::string model = WriteTemp("g.lemma", R"(graph g(x: f32[2,3], f: f32[3,4]) {
    y = matmul(x, f) z = scalar_mul(y) {alpha = 2.0} return z })");
  EXPECT_THAT(
      RunLemma({"optimize", model, "--cost=analytic", "--why-not", "matmul_scalar_into_weights"})
          .out,
      HasSubstr("    1 x f depends on an input; it has to be a weight; all else fits\n"
                "          z (at f)\n"));
}

TEST(WhyNotTest, SaysWhatARuleWouldCost) {
  const LemmaResult result = WhyNot("relu_before_transpose", {"--disable=relu_before_transpose"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("the search did not use it: --disable names it\n"));
  EXPECT_THAT(result.out, HasSubstr("it applies, but the graph is as fast as before\n"));
}

TEST(WhyNotTest, SaysWhatExcludesARule) {
  EXPECT_THAT(WhyNot("recognize_silu", {"--numerics=exact"}).out,
              HasSubstr("it is reassociates, which --numerics=exact does not allow"));
  EXPECT_THAT(WhyNot("recognize_silu", {"--only=identity_slice"}).out,
              HasSubstr("--only leaves it out"));
  const std::string rules = WriteTemp("r.txt", R"(rule mine(x: [n]) bit_exact {
    a = relu(x) b = relu(a) return b } => { c = relu(x) return c })");
  const LemmaResult unproved = WhyNot("mine", {"--rules", rules});
  ASSERT_EQ(unproved.exit_status, 0) << unproved.err;
  EXPECT_THAT(unproved.out, HasSubstr("the search did not use it: "));
  EXPECT_THAT(unproved.out, HasSubstr("it has no proof\n"));
  EXPECT_THAT(WhyNot("mine", {"--rules", rules, "--allow-unproved"}).out,
              HasSubstr("(relu + relu): not applied"));
}

TEST(WhyNotTest, AsJson) {
  const LemmaResult result = WhyNot("transpose_of_transpose", {"--json"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"why_not\":{\"rule\":\"transpose_of_transpose\""));
  EXPECT_THAT(result.out, HasSubstr("\"excluded\":\"\",\"applied\":2,\"input\":{\"anchors\":5"));
  EXPECT_THAT(result.out,
              HasSubstr("{\"missing\":\"operand\",\"reason\":\"the operand of transpose "
                        "is relu, not transpose\",\"all_else_fits\":false,"
                        "\"places\":[\"i\"]}"));
}

// With -o, the explanation is about the written graph too.
TEST(WhyNotTest, BesideAnOutput) {
  const std::string folder = NewFolder();
  const LemmaResult result =
      WhyNot("transpose_of_transpose", {"-o", folder + "/o.lemma", "--runs=3"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("written to " + folder));
  EXPECT_THAT(result.out, HasSubstr("\nrule transpose_of_transpose"));
  EXPECT_THAT(FilesIn(folder), ::testing::ElementsAre("o.lemma", "o.lemma.cert"));
}

TEST(WhyNotTest, WrongUse) {
  ExpectOneLine(WhyNot("transpose_of_transposes"),
                {"no rule named transpose_of_transposes", "did you mean transpose_of_transpose"});
  ExpectOneLine(WhyNot("of_transpose"),
                {"did you mean add_of_transposes, matmul_of_transposes, transpose_of_transpose?"});
  EXPECT_THAT(WhyNot("nothing_like_this").err, Not(HasSubstr("did you mean")));
  ExpectOneLine(WhyNot("identity_slice", {"--report", "r.html"}), {"-o OUT"});
  ExpectOneLine(WhyNot("identity_slice", {"--replay", "c.cert", "-o", "o.lemma"}), {"--replay"});
  ExpectOneLine(RunLemma({"optimize", Model()}), {"-o OUT"});
}

TEST(ExplainTest, SaysWhatRulesSaved) {
  const std::string model = WriteTemp("g.lemma", R"(graph g(x: f32[1,16,32,32],
      w: weight f32[16,16,3,3], s: weight f32[16], b: weight f32[16], m: weight f32[16],
      v: weight f32[16]) {
    c = conv2d(x, w) {pads = [1, 1, 1, 1]} n = batch_norm(c, s, b, m, v) y = relu(n) return y })");
  const std::string folder = testing::TempDir();
  const LemmaResult result =
      RunLemma({"optimize", model, "-o", folder + "/explained.lemma", "--cost-db",
                folder + "/explain.sqlite", "--reseed-weights=1", "--explain"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("fold_batch_norm_into_conv +1 +.* cannot be slower"));
}

TEST(ExplainTest, PricesRulesThatWereNotApplied) {
  const std::string model = WriteTemp("g.lemma", R"(graph g(x: f32[64,48]) {
    h = transpose(x) {perm = [1, 0]} i = relu(h) return i })");
  const LemmaResult result =
      RunLemma({"optimize", model, "-o", testing::TempDir() + "/priced.lemma", "--cost=analytic",
                "--explain", "--json"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"applied\":[]"));
  EXPECT_THAT(result.out, HasSubstr("{\"rule\":\"relu_before_transpose\",\"places\":1,\"where\":"));
  EXPECT_THAT(result.out, HasSubstr("\"alternatives_complete\":true"));
}

TEST(ExplainTest, NeedsAnOutput) {
  const LemmaResult result = RunLemma({"optimize", Model(), "--explain"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("missing -o OUT"));
}

}  // namespace
}  // namespace lemma
