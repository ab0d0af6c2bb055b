// Models whose weights lie in files: they are mapped, not copied.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::HasSubstr;

constexpr int64_t kRows = 64, kBytes = kRows * kRows * 4;

void PutOutside(onnx::TensorProto* tensor, const std::string& file, int64_t offset) {
  tensor->clear_float_data();
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", file),
                                   {"offset", std::to_string(offset)},
                                   {"length", std::to_string(kBytes)}}) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// y = (x w) v, with both weights in w.bin, the second of them from byte `offset` on.
std::string WriteModel(const std::string& folder, int64_t offset = kBytes) {
  auto model =
      OnnxModel("g (float[1,64] x) => (float[1,64] y) { h = MatMul(x, w) y = MatMul(h, v) }");
  for (const char* name : {"w", "v"}) AddOnes(&model, name, {kRows, kRows});
  PutOutside(model.mutable_graph()->mutable_initializer(0), "w.bin", 0);
  PutOutside(model.mutable_graph()->mutable_initializer(1), "w.bin", offset);
  std::string values(static_cast<size_t>(offset + kBytes), '\0');
  for (size_t i = 0; i + 3 < values.size(); i += 4) values[i + 3] = static_cast<char>(i % 61);
  std::ofstream(folder + "/w.bin", std::ios::binary) << values;
  std::ofstream(folder + "/m.onnx", std::ios::binary) << model.SerializeAsString();
  return folder + "/m.onnx";
}

std::vector<const Node*> Weights(const Graph& graph) {
  std::vector<const Node*> weights;
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) weights.push_back(node.get());
  }
  return weights;
}

onnx::ModelProto Read(const std::string& path) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(ReadAll(path)));
  return model;
}

TEST(LargeTest, WeightsStayInTheirFile) {
  const std::string folder = NewFolder();
  auto model = ImportOnnx(WriteModel(folder));
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(Weights(model->graph).size(), 2u);
  for (const Node* weight : Weights(model->graph)) {
    const char* file = MappedFileAt(weight->payload().raw());
    ASSERT_NE(file, nullptr) << weight->name();
    EXPECT_THAT(file, HasSubstr("w.bin"));
  }
}

TEST(LargeTest, ValuesThatAreNotAlignedAreCopied) {
  const std::string folder = NewFolder();
  auto model = ImportOnnx(WriteModel(folder, kBytes + 2));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_NE(MappedFileAt(Weights(model->graph)[0]->payload().raw()), nullptr);
  const Tensor& copied = Weights(model->graph)[1]->payload();
  EXPECT_EQ(MappedFileAt(copied.raw()), nullptr);
  const std::string bytes = ReadAll(folder + "/w.bin");
  EXPECT_EQ(std::string(static_cast<const char*>(copied.raw()), kBytes), bytes.substr(kBytes + 2));
}

TEST(LargeTest, WeightsInFilesGoToAFileAgain) {
  const std::string folder = NewFolder();
  auto model = ImportOnnx(WriteModel(folder));
  ASSERT_TRUE(model.ok()) << model.status();
  ExportOptions options;
  options.info = model->info;
  ASSERT_TRUE(WriteOnnx(model->graph, folder + "/o.onnx", options).ok());
  EXPECT_EQ(ReadAll(folder + "/o.onnx.data"), ReadAll(folder + "/w.bin"));
  auto again = ImportOnnx(folder + "/o.onnx");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.StructuralHash(), model->graph.StructuralHash());
}

TEST(LargeTest, WeightsInTheModelBecomeThoseOfProtobuf) {
  const std::string folder = NewFolder();
  auto model = ImportOnnx(WriteModel(folder));
  ASSERT_TRUE(model.ok()) << model.status();
  model->info.data_files.clear();
  ExportOptions options;
  options.info = model->info;
  auto bytes = ExportOnnx(model->graph, options);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(*bytes));
  EXPECT_EQ(proto.SerializeAsString(), *bytes);
  EXPECT_EQ(proto.graph().initializer(0).raw_data().size(), static_cast<size_t>(kBytes));
  EXPECT_EQ(ImportOnnxBytes(*bytes)->graph.StructuralHash(), model->graph.StructuralHash());
}

TEST(LargeTest, SmallTensorsStayInTheModelWhereAllToolsFindThem) {
  const std::string folder = NewFolder();
  const Graph graph = *ParseGraph(
      "graph g(x: f32[4,8], w: weight f32[8,512] = fill 0.5, b: weight f32[512] = fill 2) {"
      " y = matmul(x, w) z = add(y, b) r = reshape(z) {shape = [2,1024]} return r }");
  ExportOptions options;
  options.max_inline_bytes = 2100;
  ASSERT_TRUE(WriteOnnx(graph, folder + "/m.onnx", options).ok());
  const onnx::ModelProto model = Read(folder + "/m.onnx");
  for (const auto& tensor : model.graph().initializer()) {
    EXPECT_EQ(tensor.data_location() == onnx::TensorProto::EXTERNAL, !tensor.has_raw_data());
    EXPECT_EQ(tensor.has_raw_data(), tensor.data_type() == onnx::TensorProto::INT64)
        << tensor.name();
  }
  EXPECT_EQ(ImportOnnx(folder + "/m.onnx")->graph.StructuralHash(), graph.StructuralHash());
}

TEST(LargeTest, ARoundTripSharesTheWeightsAndHasNoLimit) {
  const std::string folder = NewFolder();
  auto model = ImportOnnx(WriteModel(folder));
  ASSERT_TRUE(model.ok()) << model.status();
  ExportOptions options;
  options.info = model->info;
  options.max_inline_bytes = 8;
  auto again = RoundTrip(model->graph, options, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.StructuralHash(), model->graph.StructuralHash());
  for (const Node* weight : Weights(again->graph)) {
    EXPECT_NE(MappedFileAt(weight->payload().raw()), nullptr);
  }
}

TEST(LargeTest, WeightsThatChangedMeanwhileAreNotWritten) {
  const std::string folder = NewFolder();
  auto model = ImportOnnx(WriteModel(folder));
  ASSERT_TRUE(model.ok()) << model.status();
  std::fstream(folder + "/w.bin") << "other";
  ExportOptions options;
  options.info = model->info;
  const absl::Status status = WriteOnnx(model->graph, folder + "/o.onnx", options);
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("w.bin: the file changed"));
  EXPECT_THAT(FilesIn(folder), testing::UnorderedElementsAre("m.onnx", "w.bin"));
}

TEST(LargeTest, TheInputsWeightsAreNotOverwritten) {
  const std::string folder = NewFolder();
  const std::string path = WriteModel(folder);
  std::filesystem::rename(folder + "/w.bin", folder + "/o.onnx.data");
  auto proto = Read(path);
  for (auto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    tensor.mutable_external_data(0)->set_value("o.onnx.data");
  }
  std::ofstream(path, std::ios::binary) << proto.SerializeAsString();
  auto model = ImportOnnx(path);
  ASSERT_TRUE(model.ok()) << model.status();
  ExportOptions options;
  options.info = model->info;
  EXPECT_THAT(std::string(WriteOnnx(model->graph, folder + "/o.onnx", options).message()),
              HasSubstr("o.onnx.data: would overwrite the input's weights"));
}

}  // namespace
}  // namespace lemma
