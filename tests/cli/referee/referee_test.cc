// lemma referee: exit statuses, files and JSON.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kBefore[] =
    "graph g(x: f32[2,3], w: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) {\n"
    "  p = matmul(x, w)\n  y = relu(p)\n  return y\n}\n";
// The weight is stored transposed.
constexpr char kAfter[] =
    "graph h(x: f32[2,3], v: weight f32[2,3] = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]) {\n"
    "  w = transpose(v) {perm = [1, 0]}\n  p = matmul(x, w)\n  y = relu(p)\n  return y\n}\n";
constexpr char kWrong[] =
    "graph h(x: f32[2,3], w: weight f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0]) {\n"
    "  p = matmul(x, w)\n  y = relu(p)\n  return y\n}\n";

LemmaResult Referee(const std::string& before, const std::string& after,
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"referee", WriteTemp("before.lemma", before),
                                        WriteTemp("after.lemma", after)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunLemma(arguments);
}

// A rewrite that is right for one size only (tests/api/referee_test.cc has more).
TEST(RefereeCommandTest, SymbolicSizes) {
  const std::string before = WriteTemp(
      "n.onnx", OnnxModel("g (float[n,4] x) => (float[n,4] y) { s = Constant<value = int64[2] {-1, "
                          "4}>() a = Reshape(x, s) y = Add(x, a) }")
                    .SerializeAsString());
  const std::string after = WriteTemp(
      "one.onnx", OnnxModel("g (float[n,4] x) => (float[n,4] y) { s = Constant<value = int64[2] "
                            "{1, 4}>() a = Reshape(x, s) y = Add(x, a) }")
                      .SerializeAsString());
  const LemmaResult same = RunLemma({"referee", before, before, "--range", "n=1:64"});
  EXPECT_EQ(same.exit_status, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("for all 1 <= n <= 64"));
  const LemmaResult result = RunLemma({"referee", before, after, "--json"});
  EXPECT_EQ(result.exit_status, 1) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"refutation\":{\"sizes\":{\"n\":"));
  EXPECT_EQ(RunLemma({"referee", before, before, "--dim", "n=3"}).exit_status, 0);
  EXPECT_EQ(RunLemma({"referee", before, after, "--dim", "n=1"}).exit_status, 0);
  ExpectOneLine(RunLemma({"referee", before, after, "--reseed-weights=1"}), {"--reseed-weights"});
  ExpectOneLine(RunLemma({"referee", before, after, "--hint", "m=2"}),
                {"--hint", "no dimension is called m"});
}

// A model with the node's operator moved to the domain of the layout NCHWc.
std::string BlockedFile(const std::string& text) {
  onnx::ModelProto blocked = OnnxModel(text);
  blocked.mutable_graph()->mutable_node(0)->set_domain("com.microsoft.nchwc");
  auto* set = blocked.add_opset_import();
  set->set_domain("com.microsoft.nchwc");
  set->set_version(1);
  return WriteTemp("blocked.onnx", blocked.SerializeAsString());
}

// With blocks of 16 channels the models differ in one region, and all else is proved. The layout is
// a guess, which refutes nothing.
TEST(RefereeCommandTest, BlocksOfAnotherSizeRefuteNothing) {
  // exp(max(x)) = max(exp(x)), after sums that depend on the order.
  const std::string axis = "  axis = Constant<value = int64 {1}>()";
  const std::string before = WriteTemp(
      "plain.onnx", OnnxModel("g (float[1,16,1,2] x) => (float[1,1] y) {"
                              "  s = Constant<value = int64[5] {1, 2, 8, 1, 2}>()" +
                              axis +
                              "  a = Reshape(x, s)  b = Transpose<perm = [0, 1, 3, 4, 2]>(a)"
                              "  c = Flatten(b)  d = CumSum(c, axis)  e = ReduceMax<axes = [1]>(d)"
                              "  y = Exp(e) }")
                        .SerializeAsString());
  const std::string after =
      BlockedFile("g (float[1,16,1,2] x) => (float[1,1] y) { a = ReorderInput(x) b = Flatten(a)" +
                  axis + "  d = CumSum(b, axis)  e = Exp(d)  y = ReduceMax<axes = [1]>(e) }");
  const LemmaResult result = RunLemma({"referee", before, after});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_EQ(RunLemma({"referee", before, after, "--channel-block=16"}).exit_status, 1);
}

// The file does not say how many channels a block has.
TEST(RefereeCommandTest, BlocksOf8ChannelsAreTriedToo) {
  const std::string before =
      WriteTemp("plain.onnx", OnnxModel("g (float[1,16,1,2] x) => (float[1,32] y) {"
                                        "  s = Constant<value = int64[5] {1, 2, 8, 1, 2}>()"
                                        "  a = Reshape(x, s)"
                                        "  b = Transpose<perm = [0, 1, 3, 4, 2]>(a)"
                                        "  y = Flatten(b) }")
                                  .SerializeAsString());
  const std::string after = BlockedFile(
      "g (float[1,16,1,2] x) => (float[1,32] y) { a = ReorderInput(x) y = Flatten(a) }");
  const LemmaResult result = RunLemma({"referee", before, after});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("blocks of 8 channels"));
  EXPECT_EQ(RunLemma({"referee", before, after, "--channel-block=16"}).exit_status, 1);
}

TEST(RefereeCommandTest, Proved) {
  LemmaResult result = Referee(kBefore, kAfter);
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, StartsWith("proved\ncontract  bit_exact\nsizes     the shapes x: "));
  result = Referee(kBefore, kAfter, {"--json"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_THAT(result.out, HasSubstr("\"verdict\":\"proved\",\"contract\":\"bit_exact\""));
  EXPECT_THAT(result.out, HasSubstr("\"before\":\"w\",\"exact\":true"));
}

TEST(RefereeCommandTest, RefutedWithFiles) {
  const std::string folder = NewFolder();
  LemmaResult result = Referee(kBefore, kWrong, {"--counterexample", folder});
  EXPECT_EQ(result.exit_status, 1) << result.out << result.err;
  EXPECT_THAT(result.out, StartsWith("refuted: y["));
  EXPECT_THAT(result.out, HasSubstr("first     "));
  EXPECT_THAT(FilesIn(folder),
              ElementsAre("input_0.pb", "pair_after.onnx", "pair_before.onnx", "pair_input_0.pb"));
  // The pair shows the difference without the referee.
  result = RunLemma({"run", folder + "/pair_before.onnx", "--inputs", folder + "/pair_input_0.pb",
                     "--outputs", folder + "/expected", "--runs=1"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  result = RunLemma({"run", folder + "/pair_after.onnx", "--inputs", folder + "/pair_input_0.pb",
                     "--expect", folder + "/expected", "--runs=1"});
  EXPECT_EQ(result.exit_status, 1) << result.out;
}

TEST(RefereeCommandTest, Certificate) {
  const std::string before = WriteTemp("before.lemma", kBefore),
                    after = WriteTemp("after.lemma", kAfter),
                    wrong = WriteTemp("wrong.lemma", kWrong);
  const std::string certificate = NewFolder() + "/after.verdict";
  LemmaResult result = RunLemma({"referee", before, wrong, "--certificate", certificate});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.err, HasSubstr("is not written: the models are not proved equal"));
  EXPECT_EQ(ReadAll(certificate), "");
  result = RunLemma({"referee", before, after, "--certificate", certificate});
  ASSERT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("written   " + certificate));

  result = RunLemma({"check", before, after, certificate, "--seed=7"});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, StartsWith("checked: the models are proved equal, bit_exact, for "));
  EXPECT_THAT(result.out, HasSubstr("; 1 weight copied, 0 computed (at most 0 ulps off)\n"));
  EXPECT_THAT(result.out, HasSubstr("repeatable with --seed=7\n"));
  result = RunLemma({"check", before, after, certificate, "--json"});
  EXPECT_THAT(result.out, StartsWith("{\"ok\":true,\"problem\":\"\",\"contract\":\"bit_exact\""));
  result = RunLemma({"check", before, wrong, certificate});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, HasSubstr("wrong.lemma is not the file that the certificate is of"));
  const std::string changed = WriteTemp("changed.verdict", ReadAll(certificate) + " ");
  result = RunLemma({"check", before, after, changed});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, StartsWith("REJECTED: the checksum is wrong"));

  ExpectOneLine(RunLemma({"check", before, after, certificate, "--rules=starter"}), {"--rules"});
  ExpectOneLine(RunLemma({"check", before, after, certificate, "--prove"}), {"--prove"});
  ExpectOneLine(RunLemma({"check", before, after, certificate, "--samples=0"}), {"--samples"});
  ExpectOneLine(RunLemma({"check", before, "/nowhere.onnx", certificate}), {"/nowhere.onnx"});
  ExpectOneLine(RunLemma({"referee", before, after, "--certificate", before}),
                {"before.lemma: would overwrite the input"});
}

// The usual sizes of images are smaller than the kernel.
TEST(RefereeCommandTest, SizesThatFitTheModelAreFound) {
  auto model = [](const std::string& last) {
    return WriteTemp(
        last + ".onnx",
        OnnxModel("g (float[1,1,H,W] x) => (float[1,1,P,Q] y) {"
                  "  s = Constant<value = int64[4] {1, 1, 2, 300}>()"
                  "  w = ConstantOfShape<value = float[1] {0.01}>(s)  c = Conv(x, w)  y = " +
                  last + " }")
            .SerializeAsString());
  };
  const std::string after = model("Add(c, c)"), certificate = NewFolder() + "/c.verdict";
  LemmaResult result =
      RunLemma({"referee", model("Sum(c, c)"), after, "--certificate", certificate});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  result = RunLemma({"check", model("Sum(c, c)"), after, certificate});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
}

// A certificate of models with symbolic sizes names them.
TEST(RefereeCommandTest, CertificateForAllSizes) {
  const std::string before =
      WriteTemp("n.onnx", OnnxModel("g (float[n,4] x) => (float[n,4] y) { a = Neg(x) y = Relu(a) }")
                              .SerializeAsString());
  const std::string after = WriteTemp(
      "m.onnx", OnnxModel("g (float[n,4] x) => (float[n,4] y) { z = Constant<value_float = 0.0>() "
                          "a = Sub(z, x) y = Max(a, z) }")
                    .SerializeAsString());
  const std::string certificate = NewFolder() + "/n.verdict";
  LemmaResult result =
      RunLemma({"referee", before, after, "--certificate", certificate, "--range", "n=1:64"});
  ASSERT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(ReadAll(certificate), HasSubstr("\nsymbolic n 1 64\n"));
  result = RunLemma({"check", before, after, certificate});
  EXPECT_EQ(result.exit_status, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("for all 1 <= n <= 64"));
}

TEST(RefereeCommandTest, Report) {
  const std::string page = NewFolder() + "/page.html";
  LemmaResult result = Referee(kBefore, kWrong, {"--report", page, "--json"});
  EXPECT_EQ(result.exit_status, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\"files\":[\"" + page + "\"]"));
  EXPECT_THAT(ReadAll(page), HasSubstr("<h2>Where they differ</h2>"));
  const std::string before = WriteTemp("before.lemma", kBefore);
  ExpectOneLine(RunLemma({"referee", before, before, "--report", before}),
                {"before.lemma: would overwrite the input"});
  ExpectOneLine(Referee(kBefore, kAfter, {"--report=/nowhere/page.html"}), {"/nowhere/page.html"});
}

// Equal by a law that the prover does not have.
TEST(RefereeCommandTest, Unknown) {
  const std::string a =
      "graph a(x: f32[5]) { y = softmax(x) {axis = 0} z = argmax(y) {axis = 0} return z }";
  const std::string b = "graph b(x: f32[5]) { z = argmax(x) {axis = 0} return z }";
  LemmaResult result = Referee(a, b);
  EXPECT_EQ(result.exit_status, 4) << result.out;
  EXPECT_THAT(result.out, StartsWith("unknown: "));
}

TEST(RefereeCommandTest, OtherInterface) {
  LemmaResult result = Referee(kBefore, "graph h(x: f32[2,4]) { y = relu(x) return y }");
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_THAT(result.out, StartsWith("different interface: input x is f32[2,3] before"));
}

TEST(RefereeCommandTest, AnUnacceptedContract) {
  const std::string sum = "graph g(x: f32[2], z: f32[2], u: f32[2]) { a = add(x, z) ";
  const std::string left = sum + "y = add(a, u) return y }";
  const std::string right =
      "graph g(x: f32[2], z: f32[2], u: f32[2]) { a = add(z, u) y = add(x, a) return y }";
  EXPECT_EQ(Referee(left, right).exit_status, 0);
  EXPECT_EQ(Referee(left, right, {"--accept=reassociates"}).exit_status, 0);
  EXPECT_EQ(Referee(left, right, {"--accept=bit_exact"}).exit_status, 1);
}

TEST(RefereeCommandTest, BadInput) {
  const std::string before = WriteTemp("before.lemma", kBefore);
  ExpectOneLine(RunLemma({"referee", before}), {"two models"});
  ExpectOneLine(RunLemma({"referee", before, "/nowhere.onnx"}), {"/nowhere.onnx"});
  ExpectOneLine(Referee(kBefore, kAfter, {"--channel-block=5"}), {"--channel-block", "8 or 16"});
  ExpectOneLine(Referee(kBefore, kAfter, {"--samples=0"}), {"--samples", "at least 1"});
  ExpectOneLine(Referee(kBefore, kAfter, {"--accept=mostly"}), {"--accept", "bit_exact"});
}

}  // namespace
}  // namespace lemma
