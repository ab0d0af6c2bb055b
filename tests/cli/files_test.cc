// Reading and writing files: files that are not regular, would be overwritten, or cannot be
// written.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/tensor_proto.h"
#include "graph/safetensors.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kModel[] = R"(graph g(x: f32[4,8], w: weight f32[8,3] = fill 0.5) {
  a = transpose(x) {perm = [1,0]} b = transpose(a) {perm = [1,0]} c = matmul(b, w) return c })";

class FilesTest : public testing::Test {
 protected:
  FilesTest() : model_(WriteTemp("m.lemma", kModel)), folder_(NewFolder()) {}

  LemmaResult Optimize(const std::string& out, std::vector<std::string> more = {}) {
    std::vector<std::string> all = {"optimize", model_, "-o", out, "--cost=analytic", "--runs=3"};
    all.insert(all.end(), more.begin(), more.end());
    return RunLemma(all);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  const std::string model_, folder_;
};

TEST_F(FilesTest, TheInputIsNotOverwrittenUnderAnyOfItsNames) {
  ExpectOneLine(Optimize(model_), {"m.lemma", "would overwrite the input"});
  fs::create_symlink(model_, Path("link.lemma"));
  fs::create_hard_link(model_, Path("hard.lemma"));
  ExpectOneLine(Optimize(Path("link.lemma")), {"link.lemma", "would overwrite the input", model_});
  ExpectOneLine(Optimize(Path("hard.lemma")), {"hard.lemma", "would overwrite the input"});
  ExpectOneLine(Optimize(Path("o.lemma"), {"--report", model_}), {"would overwrite the input"});
  ExpectOneLine(Optimize(Path("o.lemma"), {"--certificate", model_}), {"would overwrite"});
  ExpectOneLine(RunLemma({"train", model_, "--loss=mse", "-o", model_}), {"would overwrite"});
  ExpectOneLine(RunLemma({"run", model_, "--trace", model_}), {"would overwrite"});
  ExpectOneLine(RunLemma({"pet", model_, "--svg", model_}), {"would overwrite"});
  fs::create_hard_link(model_, Path("output_0.pb"));
  ExpectOneLine(RunLemma({"run", model_, "--outputs", folder_}),
                {"output_0.pb", "would overwrite"});
  EXPECT_EQ(ReadAll(model_), kModel);
  EXPECT_FALSE(fs::exists(Path("o.lemma")));
}

TEST_F(FilesTest, TwoResultsDoNotShareAFile) {
  ExpectOneLine(
      Optimize(Path("o.lemma"),
               {"--report", Path("../") + fs::path(folder_).filename().string() + "/o.lemma"}),
      {"two results"});
  EXPECT_THAT(FilesIn(folder_), IsEmpty());
}

TEST_F(FilesTest, ALinkIsFollowedAndStays) {
  std::ofstream(Path("target.lemma")) << "old";
  chmod(Path("target.lemma").c_str(), 0640);
  fs::create_symlink("target.lemma", Path("link.lemma"));
  fs::create_symlink("later.html", Path("dangling.html"));
  ASSERT_EQ(Optimize(Path("link.lemma"), {"--report", Path("dangling.html")}).exit_status, 0);
  EXPECT_TRUE(fs::is_symlink(Path("link.lemma")));
  EXPECT_THAT(ReadAll(Path("target.lemma")), StartsWith("graph g"));
  EXPECT_EQ(fs::status(Path("target.lemma")).permissions(), fs::perms(0640));
  EXPECT_TRUE(fs::is_symlink(Path("dangling.html")));
  EXPECT_THAT(ReadAll(Path("later.html")), HasSubstr("<html"));
  EXPECT_THAT(FilesIn(folder_), ElementsAre("dangling.html", "later.html", "link.lemma",
                                            "link.lemma.cert", "target.lemma"));
}

TEST_F(FilesTest, ADeviceIsWrittenToAndStays) {
  ASSERT_EQ(
      Optimize(Path("o.lemma"), {"--report=/dev/null", "--certificate=/dev/null"}).exit_status, 0);
  ASSERT_EQ(RunLemma({"run", model_, "--runs=1", "--trace=/dev/null"}).exit_status, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  const LemmaResult out = RunLemma({"run", model_, "--runs=1", "--trace=/dev/stdout"});
  EXPECT_EQ(out.exit_status, 0) << out.err;
  EXPECT_THAT(out.out, HasSubstr("\"traceEvents\""));
  EXPECT_THAT(out.out, HasSubstr("peak memory"));
  ExpectOneLine(RunLemma({"run", model_, "--runs=1", "--trace=/dev/full"}),
                {"/dev/full", "No space left"});
}

TEST_F(FilesTest, AFifoGetsTheBytesAndStays) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = ReadAll(Path("fifo")); });
  const LemmaResult result = RunLemma({"run", model_, "--runs=1", "--trace", Path("fifo")});
  reader.join();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(got, HasSubstr("\"traceEvents\""));
  EXPECT_TRUE(fs::is_fifo(Path("fifo")));
}

TEST_F(FilesTest, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  for (const std::string& file : {Path("fifo"), std::string("/dev/zero")}) {
    ExpectOneLine(RunLemma({"run", file}), {file, "not a regular file"});
    ExpectOneLine(RunLemma({"run", model_, "--inputs", file}), {file, "not a regular file"});
    ExpectOneLine(RunLemma({"verify", file}), {file, "not a regular file"});
    ExpectOneLine(RunLemma({"costs", "import", file, "--cost-db", Path("db")}),
                  {file, "not a regular file"});
  }
}

TEST_F(FilesTest, ExternalDataInAFifoAreRefused) {
  onnx::ModelProto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  AddOnes(&model, "w", {2});
  auto* tensor = model.mutable_graph()->mutable_initializer(0);
  tensor->clear_float_data();
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("fifo");
  std::ofstream(Path("m.onnx"), std::ios::binary) << model.SerializeAsString();
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  ExpectOneLine(RunLemma({"run", Path("m.onnx")}), {"external data", "not a regular file"});
}

// A limit on file sizes stands for a full disk.
TEST_F(FilesTest, AWriteThatFailsIsSaidAndLeavesNothing) {
  // Large enough for its certificate to be the second file that does not fit.
  std::string text = "graph g(x: f32[4]";
  for (int i = 0; i < 400; ++i)
    absl::StrAppend(&text, ", a_long_name_of_a_weight_", i, ": weight f32[4] = [1.5,2.5,3.5,4.5]");
  text += ") { s0 = add(x, a_long_name_of_a_weight_0)";
  for (int i = 1; i < 400; ++i)
    absl::StrAppend(&text, " s", i, " = add(s", i - 1, ", a_long_name_of_a_weight_", i, ")");
  const std::string large = WriteTemp("large.lemma", text + " return s399 }");
  for (const std::string out : {"o.lemma", "o.onnx", "o.pb"}) {
    ExpectOneLine(
        RunLemmaUnder(Ulimit("-f 4"), {"optimize", large, "-o", Path(out), "--cost=analytic",
                                       "--runs=3", "--budget=1", "--disable=none"}),
        {});
    EXPECT_THAT(FilesIn(folder_), IsEmpty());
  }
}

TEST_F(FilesTest, WhereOneOfTheResultsCannotBeWrittenNoneIs) {
  std::ofstream(Path("o.lemma")) << "as it was";
  ExpectOneLine(Optimize(Path("o.lemma"), {"--report=/dev/full"}), {"/dev/full", "No space left"});
  EXPECT_EQ(ReadAll(Path("o.lemma")), "as it was");
  EXPECT_THAT(FilesIn(folder_), ElementsAre("o.lemma"));
}

// Writing a file removes the temporary file that a killed process left; the temporary file of a
// running process stays.
TEST_F(FilesTest, WhatAKilledProcessLeftIsRemoved) {
  std::ofstream(Path("o.lemma.lemma-AbC123")) << "left";
  std::ofstream(Path("o.lemma.lemma-other-name")) << "no leftover";
  std::ofstream(Path("p.lemma.lemma-AbC123")) << "another's";
  ASSERT_EQ(Optimize(Path("o.lemma"), {"--certificate=none"}).exit_status, 0);
  EXPECT_THAT(FilesIn(folder_),
              ElementsAre("o.lemma", "o.lemma.lemma-other-name", "p.lemma.lemma-AbC123"));
}

TEST_F(FilesTest, BadCostsLeaveNoDatabase) {
  const std::string bad = WriteTemp("bad.txt", "lemma costs 2\ndevice d\n-1 0 1 0 0 0 k\n");
  ExpectOneLine(RunLemma({"costs", "import", bad, "--cost-db", Path("db")}), {"bad.txt", "line 3"});
  ExpectOneLine(RunLemma({"costs", "import", Path("none"), "--cost-db", Path("db")}), {"none"});
  EXPECT_THAT(FilesIn(folder_), IsEmpty());
}

TEST_F(FilesTest, AnExportDoesNotOverwriteItsDatabase) {
  const std::string good = WriteTemp("c.txt", "lemma costs 3\ndevice d\n0.5 0 1 0 0 0 0 0 k\n");
  ASSERT_EQ(RunLemma({"costs", "import", good, "--cost-db", Path("db")}).exit_status, 0);
  ExpectOneLine(RunLemma({"costs", "export", "--cost-db", Path("db"), "-o", Path("db")}),
                {"would overwrite"});
  EXPECT_EQ(RunLemma({"costs", "export", "--cost-db", Path("db")}).out, ReadAll(good));
}

// A model whose axes and sizes are inputs: they are constants where --inputs gives them.
TEST_F(FilesTest, GivenInputsAreParameters) {
  const std::string model = Path("m.onnx"), values = Path("values");
  const auto proto =
      OnnxModel(R"(g (float[N,2] x, int64[1] axes, int64[2] sizes) => (float[A,B] z) {
    y = ReduceSum<keepdims = 0>(x, axes)
    r = Relu(y)
    z = Reshape(r, sizes) })");
  std::ofstream(model, std::ios::binary) << proto.SerializeAsString();
  fs::create_directory(values);
  const Tensor inputs[] = {
      *Tensor::FromDoubles({DType::kF32, {3, 2}}, {1, 2, 3, 4, -5, 0}),
      Tensor::Ints({1}),
      Tensor::Ints({1, -1}),
  };
  for (int i = 0; i < 3; ++i) {
    std::ofstream(absl::StrCat(values, "/input_", i, ".pb"), std::ios::binary)
        << SerializeTensorProto("", inputs[i]);
  }
  ExpectOneLine(RunLemma({"run", model}), {"ReduceSum", "must be a constant"});
  const LemmaResult run = RunLemma(
      {"run", model, "--inputs=" + values, "--outputs=" + Path("out"), "--backend=reference"});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("input 'axes' is fixed to the value given"));
  auto z = ReadTensorProto(Path("out/output_0.pb"));
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->tensor.shape(), Shape({1, 3}));
  EXPECT_EQ(z->tensor.ToDoubles(), std::vector<double>({3, 7, 0}));

  const std::string faster = Path("faster.onnx");
  const LemmaResult optimized = RunLemma(
      {"optimize", model, "-o", faster, "--inputs=" + values, "--cost=analytic", "--runs=3"});
  EXPECT_EQ(optimized.exit_status, 0) << optimized.err;
  const LemmaResult checked = RunLemma({"check", model, faster, faster + ".cert"});
  EXPECT_THAT(checked.out, HasSubstr("input axes = 1, input sizes = 1 -1"));
  const LemmaResult again = RunLemma(
      {"run", faster, "--inputs=" + values, "--outputs=" + Path("again"), "--backend=reference"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  auto same = ReadTensorProto(Path("again/output_0.pb"));
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_TRUE(same->tensor.SameBytes(z->tensor));
}

// Strings are no obstacle to the rest of a model; only its execution is refused.
TEST_F(FilesTest, OpaqueTypesPassThrough) {
  const std::string model = Path("m.onnx"), faster = Path("faster.onnx");
  auto proto = OnnxModel(R"(g (float[4,4] x, string[2] s) => (bool[2] e, float[4,4] y) {
    e = Equal(s, c)
    t = Transpose(x)
    u = Transpose(t)
    y = Relu(u) })");
  auto* c = proto.mutable_graph()->add_initializer();
  c->set_name("c");
  c->set_data_type(onnx::TensorProto::STRING);
  c->add_dims(1);
  c->add_string_data("abc");
  std::ofstream(model, std::ios::binary) << proto.SerializeAsString();
  const LemmaResult run = RunLemma({"run", model});
  EXPECT_EQ(run.exit_status, 2);
  EXPECT_THAT(run.err, HasSubstr("input 's': unsupported: values of element type string"));
  const LemmaResult optimized =
      RunLemma({"optimize", model, "-o", faster, "--cost=analytic", "--certificate=none"});
  EXPECT_EQ(optimized.exit_status, 0) << optimized.err;
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(ReadAll(faster)));
  std::vector<std::string> operators;
  for (const auto& node : written.graph().node()) operators.push_back(node.op_type());
  EXPECT_THAT(operators, ::testing::UnorderedElementsAre("Constant", "Equal", "Relu"));
}

}  // namespace
}  // namespace lemma
