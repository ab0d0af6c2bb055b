// lemma optimize --numerics=quantize as a user sees it.
#include <algorithm>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "gmock/gmock.h"
#include "graph/onnx/tensor_proto.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Two products, with a normalization that the optimization removes.
std::string Model() {
  onnx::ModelProto model = OnnxModel(R"(
    g (float[64,256] x) => (float[64,256] y) {
      one = Constant <value = float[1] {1.0}> ()
      a = MatMul (x, v)
      b = Mul (a, one)
      c = Relu (b)
      y = MatMul (c, w)
    })");
  AddOnes(&model, "v", {256, 256});
  AddOnes(&model, "w", {256, 256});
  return WriteTemp("model.onnx", model.SerializeAsString());
}

std::vector<std::string> Command(const std::string& model, const std::string& output,
                                 std::vector<std::string> more = {}) {
  std::vector<std::string> words = {
      "optimize", model, "-o", output, "--runs=3", "--seconds=2", "--numerics=quantize"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(OptimizeQuantizeTest, WritesBothModelsAndTheCertificate) {
  const std::string folder = NewFolder(), model = Model();
  const LemmaResult result = RunLemma(Command(model, folder + "/q.onnx", {"--max-error=0.1"}));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(FilesIn(folder), ElementsAre("q.f32.onnx", "q.f32.onnx.cert", "q.onnx"));
  EXPECT_THAT(result.out, HasSubstr("certificate: " + folder + "/q.f32.onnx.cert\n"));
  EXPECT_THAT(result.out, HasSubstr("written to " + folder + "/q.onnx\n"));
  EXPECT_THAT(result.out, ContainsRegex("error       y: relative error [^\n]+measured on"));
  // What was proved is repeated; what was quantized has no certificate.
  EXPECT_EQ(
      RunLemma({"check", model, folder + "/q.f32.onnx", folder + "/q.f32.onnx.cert"}).exit_status,
      0);
  EXPECT_EQ(
      RunLemma({"check", model, folder + "/q.onnx", folder + "/q.f32.onnx.cert"}).exit_status == 0,
      ReadAll(folder + "/q.onnx") == ReadAll(folder + "/q.f32.onnx"));
  // The quantized model is the output exactly if it is faster.
  const bool is_kept = absl::StrContains(result.out, "kept the model in f32: quantized, it takes ");
  const bool has_integers = absl::StrContains(ReadAll(folder + "/q.onnx"), "QuantizeLinear");
  EXPECT_NE(is_kept, has_integers) << result.out;
  EXPECT_EQ(absl::StrContains(result.out, "bounds are of single operators"), has_integers);
  EXPECT_EQ(RunLemma({"run", folder + "/q.onnx", "--runs=1"}).exit_status, 0);
}

TEST(OptimizeQuantizeTest, Tf32RoundsTheOperandsOfProducts) {
  const std::string folder = NewFolder(), model = Model();
  std::vector<std::string> command = Command(model, folder + "/q.onnx", {"--max-error=0.01"});
  std::replace(command.begin(), command.end(), std::string("--numerics=quantize"),
               std::string("--numerics=tf32"));
  const LemmaResult result = RunLemma(command);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(FilesIn(folder), ElementsAre("q.f32.onnx", "q.f32.onnx.cert", "q.onnx"));
  EXPECT_THAT(result.out, Not(HasSubstr("kept the model in f32")));
  EXPECT_EQ(
      RunLemma({"check", model, folder + "/q.f32.onnx", folder + "/q.f32.onnx.cert"}).exit_status,
      0);
  EXPECT_THAT(RunLemma({"show", folder + "/q.f32.onnx"}).out, Not(HasSubstr("round_tf32")));
  EXPECT_THAT(RunLemma({"show", folder + "/q.onnx"}).out, HasSubstr("round_tf32(x)"));
  const LemmaResult kernels =
      RunLemma({"check", folder + "/q.onnx", "--kernels", "--precision=stored"});
  EXPECT_EQ(kernels.exit_status, 0) << kernels.out << kernels.err;
  // Half a unit of TF32 is 2^-12 of a number; no budget below what a rounding costs is kept to.
  command[3] = folder + "/r.onnx";
  command.back() = "--max-error=0";
  const LemmaResult kept = RunLemma(command);
  ASSERT_EQ(kept.exit_status, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("kept the model in f32: no operator keeps to the budget\n"));
  EXPECT_EQ(ReadAll(folder + "/r.onnx"), ReadAll(folder + "/r.f32.onnx"));
}

TEST(OptimizeQuantizeTest, WithoutBudgetTheFloatsAreKept) {
  const std::string folder = NewFolder();
  const LemmaResult result = RunLemma(Command(Model(), folder + "/q.onnx", {"--max-error=0"}));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("kept the model in f32: no operator keeps to the budget\n"));
  EXPECT_EQ(ReadAll(folder + "/q.onnx"), ReadAll(folder + "/q.f32.onnx"));
}

TEST(OptimizeQuantizeTest, AModelWithoutProductsIsKept) {
  const std::string folder = NewFolder();
  const std::string model = WriteTemp(
      "relu.onnx", OnnxModel("g (float[2] x) => (float[2] y) {y = Relu (x)}").SerializeAsString());
  const LemmaResult result = RunLemma(Command(model, folder + "/q.onnx", {"--json"}));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, ContainsRegex("\"quantized\":\\{\"output\":\"[^\"]+q.onnx\","
                                        "\"kept\":\"[^\"]+\",\"result\":null\\}\\}"));
  EXPECT_EQ(ReadAll(folder + "/q.onnx"), ReadAll(folder + "/q.f32.onnx"));
}

// The sizes of the samples count, not those for which the model was optimized.
TEST(OptimizeQuantizeTest, SamplesMayHaveOtherSizes) {
  onnx::ModelProto model =
      OnnxModel("g (float[N,256] x) => (float[N,256] y) { a = MatMul (x, v) y = MatMul (a, w) }");
  AddOnes(&model, "v", {256, 256});
  AddOnes(&model, "w", {256, 256});
  const std::string folder = NewFolder(), samples = NewFolder();
  for (const int64_t rows : {3, 5}) {
    const std::string sample = absl::StrCat(samples, "/", rows);
    ASSERT_TRUE(std::filesystem::create_directory(sample));
    const Tensor x = *Tensor::Filled({DType::kF32, {rows, 256}}, 0.5);
    ASSERT_TRUE(WriteFileAtomically(sample + "/input_0.pb", {SerializeTensorProto("x", x)}).ok());
  }
  const LemmaResult result =
      RunLemma(Command(WriteTemp("sizes.onnx", model.SerializeAsString()), folder + "/q.onnx",
                       {"--calibration=" + samples, "--max-error=0.2"}));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out,
              ContainsRegex("error       y: relative error [^\n]+measured on 1 sample"));
  ExpectOneLine(RunLemma(Command(Model(), folder + "/p.onnx", {"--calibration=/nowhere"})),
                {"--calibration: there is no file or folder /nowhere"});
}

TEST(OptimizeQuantizeTest, PrintsOneObject) {
  const LemmaResult result =
      RunLemma(Command(Model(), NewFolder() + "/q.onnx", {"--json", "--max-error=0.1"}));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1);
  EXPECT_THAT(result.out, HasSubstr("\"quantized\":{\"output\":"));
  EXPECT_THAT(result.out, HasSubstr("\"worst\":"));
}

TEST(OptimizeQuantizeTest, SaysWhatIsWrongAndWritesNothing) {
  const std::string folder = NewFolder(), output = folder + "/q.onnx", model = Model();
  ExpectOneLine(RunLemma({"optimize", model, "-o", output, "--max-error=0.1"}),
                {"--max-error: only with --numerics=quantize"});
  ExpectOneLine(RunLemma({"optimize", model, "-o", output, "--calibration=x.npz"}),
                {"--calibration: only with --numerics=quantize"});
  ExpectOneLine(RunLemma(Command(model, folder + "/q.pb")),
                {"--numerics=quantize: quantized models are written as .onnx"});
  ExpectOneLine(RunLemma(Command(model, output, {"--execution=off"})),
                {"--execution: not with --numerics=quantize"});
  ExpectOneLine(RunLemma(Command(model, output, {"--memory-limit=1MB"})), {"--memory-limit: not"});
  ExpectOneLine(RunLemma(Command(model, output, {"--max-error=-1"})), {"--max-error: must be"});
  EXPECT_TRUE(FilesIn(folder).empty());
}

}  // namespace
}  // namespace lemma
