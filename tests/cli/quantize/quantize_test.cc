// lemma quantize as a user sees it.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string Model() {
  onnx::ModelProto model = OnnxModel(R"(
    g (float[N,2] x) => (float[N,2] y) {
      v = Constant <value = float[2,2] {0.3, -0.7, 0.2, 0.9}> ()
      w = Constant <value = float[2,2] {0.6, -0.1, 0.35, 0.8}> ()
      h = MatMul (x, v)
      s = Softmax (h)
      y = MatMul (s, w)
    })");
  model.mutable_graph()->mutable_node(2)->set_name("first");
  return WriteTemp("model.onnx", model.SerializeAsString());
}

TEST(QuantizeTest, PrintsWhatItMeasured) {
  const std::string folder = NewFolder();
  const LemmaResult result = RunLemma({"quantize", Model(), "-o", folder + "/q.onnx", "--verbose"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("first +MatMul +no +[0-9.e-]+ +[0-9.e-]+ +[0-9.e-]+ "));
  EXPECT_THAT(result.out, HasSubstr("operators of other types, left in f32: Softmax (1)\n"));
  EXPECT_THAT(result.out, ContainsRegex("\nx +u8 "));
  EXPECT_THAT(result.out,
              ContainsRegex("quantized   2 of 2 operators that can be quantized\n"
                            "error       y: relative error [^\n]+ \\(measured on 7 samples\\)\n"
                            "held out    y: relative error [^\n]+ \\(measured on 1 sample\\)\n"
                            "time        [^\n]+ \\(measured on cpu\\)\n"));
  EXPECT_THAT(result.out, HasSubstr("the samples are random: ranges and errors say nothing"));
  EXPECT_THAT(FilesIn(folder), ::testing::ElementsAre("q.onnx"));
  // The sizes are open as before.
  EXPECT_EQ(RunLemma({"run", folder + "/q.onnx", "--dim=N=3", "--runs=1"}).exit_status, 0);
}

TEST(QuantizeTest, ABudgetThatNothingKeepsIsANo) {
  const std::string folder = NewFolder();
  const LemmaResult result =
      RunLemma({"quantize", Model(), "-o", folder + "/q.onnx", "--max-error=0", "--runs=0"});
  EXPECT_EQ(result.exit_status, 1) << result.err;
  EXPECT_THAT(result.out, StartsWith("nothing is quantized: no operator keeps to the budget\n"));
  EXPECT_THAT(result.out, ContainsRegex("first +MatMul +over the budget: alone "));
  EXPECT_TRUE(FilesIn(folder).empty());
}

TEST(QuantizeTest, PrintsOneObject) {
  const LemmaResult result = RunLemma({"quantize", Model(), "-o", NewFolder() + "/q.onnx", "--json",
                                       "--keep=first", "--runs=0", "--max-error=0.5"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, StartsWith("{\"model\":"));
  EXPECT_THAT(result.out, HasSubstr("\"written\":true"));
  EXPECT_THAT(result.out, HasSubstr("{\"name\":\"first\",\"type\":\"MatMul\",\"quantized\":false,"
                                    "\"reason\":\"kept by --keep\","));
  EXPECT_THAT(result.out, HasSubstr("\"tried\":[{\"operators\":1,\"error\":"));
  EXPECT_THAT(result.out, ContainsRegex("\"ranges\":\\[\\{\"name\":\"s\",\"type\":\"u8\""));
  EXPECT_THAT(result.out, HasSubstr("\"f32_ms\":null"));
}

TEST(QuantizeTest, FormsAreFlags) {
  for (const char* flags : {"--form=dynamic", "--form=weights", "--per-tensor", "--symmetric",
                            "--bits=7", "--ranges=mse", "--alone=off", "--equalize", "--smooth",
                            "--smooth=0.75", "--correct-bias"}) {
    const LemmaResult result =
        RunLemma({"quantize", Model(), "-o", NewFolder() + "/q.onnx", "--runs=0", flags});
    EXPECT_EQ(result.exit_status, 0) << flags << result.err;
    EXPECT_THAT(result.out, HasSubstr("quantized   2 of 2")) << flags;
  }
  const LemmaResult blocks = RunLemma({"quantize", Model(), "-o", NewFolder() + "/q.onnx",
                                       "--runs=0", "--form=weights", "--bits=4"});
  EXPECT_EQ(blocks.exit_status, 0) << blocks.err;
  EXPECT_THAT(blocks.out, Not(HasSubstr("zero point")));
}

TEST(QuantizeTest, SaysWhatIsWrongAndWritesNothing) {
  const std::string folder = NewFolder(), output = folder + "/q.onnx", model = Model();
  ExpectOneLine(RunLemma({"quantize", model}), {"-o OUT is needed"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", folder + "/q.txt"}),
                {"q.txt: quantized models are written as ONNX"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--bits=4"}),
                {"--bits: must be 8 or 7, or 4 with --form weights"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--max-error=nan"}),
                {"--max-error: must be a number"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--equalize", "--form=weights"}),
                {"--equalize: needs --form static"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--correct-bias", "--form=dynamic"}),
                {"--correct-bias: needs --form static"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--smooth=2"}),
                {"--smooth: must be from 0 to 1"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--smooth=much"}),
                {"--smooth: 'much' is not a number"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--asymmetric-weights"}),
                {"--asymmetric-weights", "--per-tensor"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--block=17", "--form=weights"}),
                {"--block: must be a power of 2"});
  ExpectOneLine(
      RunLemma({"quantize", model, "-o", output, "--keep=firrst"}),
      {"--keep: no node and no type of operator is called 'firrst'; did you mean first?"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--calibration=/nowhere"}),
                {"/nowhere"});
  ExpectOneLine(RunLemma({"quantize", model, "-o", output, "--dim=M=3"}), {"model.onnx", "M"});
  ExpectOneLine(RunLemma({"quantize", "/nowhere.onnx", "-o", output}), {"/nowhere.onnx"});
  ExpectOneLine(
      RunLemma({"quantize", WriteTemp("g.txt", "graph g(x: f32[2]) { return x }"), "-o", output}),
      {"g.txt: not an ONNX model"});
  EXPECT_TRUE(FilesIn(folder).empty());
}

}  // namespace
}  // namespace lemma
