// The published models in data/models/light: import, round trip, published outputs.
#include <string>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/tensor_proto.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"

namespace lemma {
namespace {

constexpr char kFolder[] = "data/models/light/";

class ModelsTest : public testing::TestWithParam<const char*> {
 protected:
  std::string Path(const std::string& suffix) const {
    return std::string(kFolder) + "light_" + GetParam() + suffix;
  }
};

// The input of ONNX's own tests of these models: element i of n is i / n.
Tensor Ramp(const TensorType& type) {
  Tensor tensor = *Tensor::Allocate(type);
  auto values = tensor.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(values.size()));
  }
  return tensor;
}

TEST_P(ModelsTest, RoundTrips) {
  auto model = ImportOnnx(Path(".onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->opaque.empty());
  ExportOptions options;
  options.info = model->info;
  auto bytes = ExportOnnx(model->graph, options);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto again = ImportOnnxBytes(*bytes);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->graph.StructuralHash(), model->graph.StructuralHash());
  EXPECT_EQ(again->graph.input_names(), model->graph.input_names());
  EXPECT_EQ(again->graph.output_names(), model->graph.output_names());
}

TEST_P(ModelsTest, ComputesThePublishedOutput) {
  auto model = ImportOnnx(Path(".onnx"));
  ASSERT_TRUE(model.ok()) << model.status();
  auto expected = ReadTensorProto(Path("_output_0.pb"));
  ASSERT_TRUE(expected.ok()) << expected.status();
  auto executable = MakeReferenceBackend()->Compile(model->graph, {});
  ASSERT_TRUE(executable.ok()) << executable.status();
  auto outputs = (*executable)->Run({Ramp(model->graph.inputs()[0].type())});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(Mismatch(model->graph, *outputs, {expected->tensor}), "");
}

INSTANTIATE_TEST_SUITE_P(Light, ModelsTest,
                         testing::Values("bvlc_alexnet", "densenet121", "inception_v1", "resnet50",
                                         "squeezenet", "vgg19"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lemma
