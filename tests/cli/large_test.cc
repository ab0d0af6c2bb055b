// lemma optimize --execution=off, and models with their weights in files.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cli/lemma_process.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr int kRows = 64, kBytes = kRows * kRows * 4;

// x w + x v, as nodes first, second and sum, then tanh. The weights lie in w.bin.
class LargeTest : public testing::Test {
 protected:
  LargeTest() : folder_(fs::canonical(NewFolder()).string()) {
    auto model = OnnxModel(R"(g (float[1,64] x) => (float[1,64] y) {
      a = MatMul(x, w) b = MatMul(x, v) s = Add(a, b) y = Tanh(s) })");
    const char* const names[] = {"first", "second", "sum", "end"};
    for (int i = 0; i < 4; ++i) model.mutable_graph()->mutable_node(i)->set_name(names[i]);
    int offset = 0;
    std::ofstream data(Path("w.bin"), std::ios::binary);
    for (const char* name : {"w", "v"}) {
      AddOnes(&model, name, {kRows, kRows});
      auto* tensor = model.mutable_graph()->mutable_initializer(offset / kBytes);
      tensor->clear_float_data();
      tensor->set_data_location(onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] : {std::pair<std::string, std::string>("location", "w.bin"),
                                       {"offset", std::to_string(offset)},
                                       {"length", std::to_string(kBytes)}}) {
        auto* entry = tensor->add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      }
      offset += kBytes;
      std::vector<float> values(kRows * kRows);
      for (int i = 0; i < kRows * kRows; ++i) values[i] = static_cast<float>(i % 7 + offset % 3);
      data.write(reinterpret_cast<const char*>(values.data()), kBytes);
    }
    auto* entry = model.add_metadata_props();
    entry->set_key("author");
    entry->set_value("someone");
    std::ofstream(Path("m.onnx"), std::ios::binary) << model.SerializeAsString();
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  std::vector<std::string> Words(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"optimize", Path("m.onnx"), "-o", Path("o.onnx"),
                                      "--execution=off"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  LemmaResult WithFault(const std::string& fault) const {
    const std::string library = fs::absolute("tests/cli/libfaults.so").string();
    return RunLemmaUnder({"env", "LD_PRELOAD=" + library, "LEMMA_FAULTS=" + fault}, Words());
  }

  const std::string folder_;
};

onnx::ModelProto Read(const std::string& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ReadAll(path))) << path;
  return model;
}

TEST_F(LargeTest, WithoutExecutionThePriceDecides) {
  const LemmaResult result = RunLemma(Words());
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nothing was executed, the result was accepted by its price: "
                                    "costs are analytic"));
  EXPECT_THAT(result.out, Not(HasSubstr("kept the input")));
  const LemmaResult checked =
      RunLemma({"check", Path("m.onnx"), Path("o.onnx"), Path("o.onnx.cert")});
  EXPECT_EQ(checked.exit_status, 0) << checked.out << checked.err;
  EXPECT_THAT(FilesIn(folder_),
              UnorderedElementsAre("m.onnx", "w.bin", "o.onnx", "o.onnx.data", "o.onnx.cert"));
  const std::vector<std::string> same = {"run", Path("o.onnx"), "--runs=1"};
  EXPECT_EQ(RunLemma(same).exit_status, 0);
  const LemmaResult json = RunLemma(Words({"--json"}));
  EXPECT_THAT(json.out, HasSubstr("\"executed\":false"));
}

TEST_F(LargeTest, WhatExecutionMustConfirmIsRefused) {
  ExpectOneLine(RunLemma(Words({"--memory-limit=1M"})),
                {"--memory-limit", "has to be confirmed by execution"});
  ExpectOneLine(RunLemma(Words({"--allow-unproved"})),
                {"--allow-unproved", "has to be confirmed by execution"});
}

TEST_F(LargeTest, NewNodesAndWeightsSayWhereTheyCameFrom) {
  ASSERT_EQ(RunLemma(Words()).exit_status, 0);
  const auto sum = Read(Path("o.onnx"));
  ASSERT_EQ(sum.graph().initializer_size(), 1);
  EXPECT_THAT(sum.graph().initializer(0).name(), testing::AnyOf("w+v/folded", "v+w/folded"));

  auto model = OnnxModel(R"(g (float[1,2,8,8] x) => (float[1,2,8,8] z) {
    c = Conv(x, k) y = BatchNormalization(c, s, b, m, v) z = Tanh(y) })");
  AddOnes(&model, "k", {2, 2, 1, 1});
  for (const char* name : {"s", "b", "m", "v"}) AddOnes(&model, name, {2});
  model.mutable_graph()->mutable_node(1)->set_name("norm");
  std::ofstream(Path("n.onnx"), std::ios::binary) << model.SerializeAsString();
  const LemmaResult result =
      RunLemma({"optimize", Path("n.onnx"), "-o", Path("p.onnx"), "--execution=off"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const auto folded = Read(Path("p.onnx"));
  ASSERT_EQ(folded.graph().node_size(), 2) << result.out;
  EXPECT_EQ(folded.graph().node(0).name(), "norm/fold_batch_norm_into_conv");
  EXPECT_EQ(folded.graph().node(0).output(0), "y");
  ASSERT_EQ(folded.graph().initializer_size(), 2);
  for (const auto& tensor : folded.graph().initializer()) {
    EXPECT_THAT(tensor.name(), testing::EndsWith("/folded"));
  }
}

// Metadata of the output, by key.
std::string Metadata(const onnx::ModelProto& model, const std::string& key) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == key) return entry.value();
  }
  return "";
}

TEST_F(LargeTest, MetadataTellRulesAndCertificate) {
  ASSERT_EQ(RunLemma(Words()).exit_status, 0);
  const auto model = Read(Path("o.onnx"));
  EXPECT_EQ(Metadata(model, "author"), "someone");
  const std::string lemma = Metadata(model, "lemma");
  EXPECT_THAT(lemma, HasSubstr("{\"version\":\"0."));
  EXPECT_THAT(lemma, HasSubstr("\"rules\":{\""));
  // As docs/certificates.md says: from the line of the rules on, without the last line.
  const std::string command =
      "sed -n '/^rules /,$p' " + Path("o.onnx.cert") + " | sed '$d' | sha256sum > " + Path("sum");
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_THAT(lemma, HasSubstr("\"certificate\":\"" + ReadAll(Path("sum")).substr(0, 64)));
  // A result of a result has one entry.
  ASSERT_EQ(
      RunLemma({"optimize", Path("o.onnx"), "-o", Path("p.onnx"), "--execution=off"}).exit_status,
      0);
  EXPECT_EQ(Read(Path("p.onnx")).metadata_props_size(), 2);
}

TEST_F(LargeTest, AModelThatIsKeptIsCopiedWithItsWeights) {
  fs::create_directory(Path("copy"));
  const LemmaResult result = RunLemma({"optimize", Path("m.onnx"), "-o", Path("copy/m.onnx"),
                                       "--execution=off", "--only=relu_of_relu"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("kept the input"));
  EXPECT_EQ(ReadAll(Path("copy/m.onnx")), ReadAll(Path("m.onnx")));
  EXPECT_EQ(ReadAll(Path("copy/w.bin")), ReadAll(Path("w.bin")));
}

TEST_F(LargeTest, MissingAndShortFilesAreNamed) {
  fs::resize_file(Path("w.bin"), 2 * kBytes - 4);
  ExpectOneLine(RunLemma(Words()), {"m.onnx: initializer 'v'", "w.bin", "are needed"});
  fs::remove(Path("w.bin"));
  ExpectOneLine(RunLemma(Words()), {"m.onnx: initializer 'w'", "w.bin", "cannot open"});
}

TEST_F(LargeTest, AFileThatShrinksOrChangesInUseIsNamed) {
  const std::string weights = ReadAll(Path("w.bin"));
  ExpectOneLine(WithFault("shrink:" + Path("w.bin")), {"w.bin", "became shorter"});
  std::ofstream(Path("w.bin"), std::ios::binary) << weights;
  ExpectOneLine(WithFault("change:" + Path("w.bin")), {"w.bin", "changed while it was in use"});
  EXPECT_THAT(FilesIn(folder_), UnorderedElementsAre("m.onnx", "w.bin"));
}

}  // namespace
}  // namespace lemma
