// The models of tools/export_models, as PyTorch writes them: import, round trip, PyTorch's outputs.
//
//   bazel run //tests/graph/onnx:exported_models_test -- --models=DIRECTORY
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"

namespace lemma {
namespace {

std::string models;  // the directory

class ExportedModelsTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    path_ = models + "/" + GetParam();
    if (!std::filesystem::exists(path_ + ".onnx")) {
      GTEST_SKIP() << path_ << ".onnx is missing; tools/export_models makes it";
    }
  }
  std::string path_;
};

TEST_P(ExportedModelsTest, ComputesPyTorchsOutput) {
  auto model = ImportOnnx(path_ + ".onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->opaque.empty());
  EXPECT_TRUE(model->notes.empty());
  auto input = ReadTensorProto(path_ + ".io/input_0.pb");
  auto expected = ReadTensorProto(path_ + ".io/output_0.pb");
  ASSERT_TRUE(input.ok() && expected.ok()) << input.status() << expected.status();
  auto executable = MakeReferenceBackend()->Compile(model->graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run({input->tensor});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(Mismatch(model->graph, *outputs, {expected->tensor}), "");
}

TEST_P(ExportedModelsTest, RoundTrips) {
  auto model = ImportOnnx(path_ + ".onnx");
  ASSERT_TRUE(model.ok()) << model.status();
  ExportOptions options;
  options.info = model->info;
  std::string copy = testing::TempDir() + "/" + GetParam() + ".onnx";
  ASSERT_TRUE(WriteOnnx(model->graph, copy, options).ok());
  auto again = ImportOnnx(copy);
  std::filesystem::remove(copy);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.StructuralHash(), model->graph.StructuralHash());
  EXPECT_EQ(again->graph.input_names(), model->graph.input_names());
  EXPECT_EQ(again->graph.output_names(), model->graph.output_names());
}

INSTANTIATE_TEST_SUITE_P(PyTorch, ExportedModelsTest,
                         testing::Values("bert_2layer", "densenet121", "efficientnet_b0",
                                         "inception_v3", "mobilenet_v2", "resnet18", "resnet50",
                                         "resnext50", "shufflenet_v2", "squeezenet1_1", "vgg16",
                                         "vit_b_16"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const passwd* user = getpwuid(getuid());
  lemma::models = std::string(user == nullptr ? "" : user->pw_dir) + "/.cache/lemma/models";
  for (int i = 1; i < argc; ++i) {
    absl::string_view flag = argv[i];
    if (absl::ConsumePrefix(&flag, "--models=")) lemma::models = std::string(flag);
  }
  return RUN_ALL_TESTS();
}
