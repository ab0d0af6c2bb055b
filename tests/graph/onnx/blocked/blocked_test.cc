// The operators of com.microsoft.nchwc: what they compute, and that layouts cancel.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/compare.h"
#include "tests/graph/onnx/grid.h"
#include "tests/graph/onnx/onnx_text.h"
#include "tests/runtime/ort/engine.h"

namespace lemma {
namespace {

// Operators in the domain of `inputs`' model, except Relu and Concat, which are ONNX's own.
onnx::ModelProto ModelOf(const std::string& inputs, const std::string& body) {
  onnx::ModelProto model =
      OnnxModel(absl::StrCat("g (", inputs, ") => (float y) { ", body, " }"), 17);
  auto& output = *model.mutable_graph()->mutable_output(0);
  output.mutable_type()->mutable_tensor_type()->clear_shape();
  auto* entry = model.add_opset_import();
  entry->set_domain("com.microsoft.nchwc");
  entry->set_version(1);
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "Relu" && node.op_type() != "Concat" && node.op_type() != "Flatten") {
      node.set_domain("com.microsoft.nchwc");
    }
  }
  return model;
}

ImportedModel Imported(const std::string& inputs, const std::string& body, int64_t block = 16) {
  ImportOptions options;
  options.channel_block = block;
  auto model = ImportOnnxBytes(ModelOf(inputs, body).SerializeAsString(), options);
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return {};
  EXPECT_TRUE(model->opaque.empty()) << model->opaque[0];
  return *std::move(model);
}

std::vector<double> Executed(const Graph& graph, const std::vector<double>& x) {
  auto executable = MakeReferenceBackend()->Compile(graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  auto y =
      (*executable)->Run(std::vector<Tensor>{*Tensor::FromDoubles(graph.inputs()[0].type(), x)});
  EXPECT_TRUE(y.ok()) << y.status();
  return (*y)[0].ToDoubles();
}

TEST(BlockedTest, ReorderInputMovesChannelsInside) {
  // Four channels of two positions, in blocks of 8: channels follow each other.
  const Graph graph = Imported("float[1,4,1,2] x", "y = ReorderInput(x)", 8).graph;
  EXPECT_EQ(Executed(graph, {1, 2, 3, 4, 5, 6, 7, 8}),
            (std::vector<double>{1, 3, 5, 7, 0, 0, 0, 0, 2, 4, 6, 8, 0, 0, 0, 0}));
}

TEST(BlockedTest, LayoutsCancel) {
  const Graph same =
      Imported("float[1,20,3,3] x", "a = ReorderInput(x) y = ReorderOutput<channels = 20>(a)")
          .graph;
  EXPECT_EQ(same.outputs()[0], same.inputs()[0]);
  const Graph relu = Imported("float[1,20,3,3] x",
                              "a = ReorderInput(x) b = Relu(a) y = ReorderOutput<channels = 20>(b)")
                         .graph;
  EXPECT_EQ(relu.num_ops(), 1);
  const Graph joined =
      Imported("float[1,16,3,3] x",
               "a = ReorderInput(x) b = Concat<axis = 1>(a, a) y = ReorderOutput<channels = "
               "32>(b)")
          .graph;
  EXPECT_EQ(joined.num_ops(), 1);
}

// The file names only tensors in the layout, and none of these is computed.
TEST(BlockedTest, TensorsInTheUsualLayoutHaveTheNames) {
  const Graph graph =
      Imported("float[1,20,3,3] x, float[32,1,1,1] w",
               "a = ReorderInput(x) b = Conv<group = 32, kernel_shape = [1, 1]>(a, w)"
               "c = MaxPool<kernel_shape = [2, 2]>(b) y = ReorderOutput<channels = 20>(c)")
          .graph;
  std::vector<std::string> names;
  for (const NodePtr& node : graph.nodes()) {
    if (node->IsOp("depthwise_conv2d") || node->IsOp("conv2d") || node->IsOp("max_pool2d")) {
      names.emplace_back(graph.LabelOf(Value(node, 0)));
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"b", "c"})) << PrintGraph(graph);
}

// An operator that does not know the layout reads what lies in memory.
TEST(BlockedTest, OthersReadTheMemory) {
  const Graph graph = Imported("float[1,8,1,2] x", "a = ReorderInput(x) y = Flatten(a)", 8).graph;
  EXPECT_EQ(Executed(graph, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
            (std::vector<double>{1, 3, 5, 7, 9, 11, 13, 15, 2, 4, 6, 8, 10, 12, 14, 16}));
}

TEST(BlockedTest, SaysWhichBlockItTakes) {
  const ImportedModel model =
      Imported("float[1,16,3,3] x", "y = MaxPool<kernel_shape = [2, 2]>(x)", 0);
  ASSERT_EQ(model.notes.size(), 1);
  EXPECT_EQ(model.notes[0], "the layout NCHWc is taken to have blocks of 16 channels");
}

TEST(BlockedTest, AgainstOnnxRuntime) {
  auto ort = OrtEngine::Start({"--optimize", "disabled"});
  if (absl::IsFailedPrecondition(ort.status())) GTEST_SKIP() << ort.status().message();
  ASSERT_TRUE(ort.ok()) << ort.status();
  // The size of a block on this machine.
  const onnx::ModelProto probe = ModelOf("float[1,4,1,1] x", "y = ReorderInput(x)");
  auto filled =
      (*ort)->Run(probe.SerializeAsString(), {*Tensor::Filled({DType::kF32, {1, 4, 1, 1}}, 1)});
  ASSERT_TRUE(filled.ok()) << filled.status();
  const int64_t block = (*filled)[0].shape()[1];
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"float[1,16,5,5] x, float[16,16,3,3] w, float[16] b",
       "y = Conv<pads = [1, 1, 1, 1], activation = \"Relu\">(x, w, b)"},
      {"float[2,32,5,4] x, float[16,32,2,1] w", "y = Conv<strides = [2, 1]>(x, w)"},
      {"float[1,3,7,7] x, float[32,3,3,3] w", "y = Conv<strides = [2, 2]>(x, w)"},
      {"float[1,32,5,5] x, float[32,1,3,3] w", "y = Conv<group = 32, dilations = [2, 2]>(x, w)"},
      {"float[1,32,4,4] x, float[32,16,1,1] w", "y = Conv<group = 2>(x, w)"},
      {"float[1,16,4,4] x, float[16,16,1,1] w, float[16] b, float[1,16,4,4] s",
       "y = Conv<activation = \"LeakyRelu\", activation_params = [0.25]>(x, w, b, s)"},
      {"float[1,16,4,4] x, float[16,16,1,1] w, float[16] b",
       "y = Conv<activation = \"HardSwish\">(x, w, b)"},
      {"float[1,20,2,3] x", "y = ReorderInput(x)"},
      {"float[1,2,3,20] x", "y = ReorderInput<channels_last = 1>(x)"},
      {"float[1,32,2,3] x", "y = ReorderOutput<channels = 28>(x)"},
      {"float[1,32,2,3] x", "y = ReorderOutput<channels = 28, channels_last = 1>(x)"},
      {"float[1,16,5,5] x", "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(x)"},
      {"float[1,16,5,5] x",
       "y = AveragePool<kernel_shape = [2, 2], pads = [1, 0, 1, 0], count_include_pad = 1>(x)"},
      {"float[1,32,3,3] x", "y = GlobalAveragePool(x)"},
      {"float[1,32,3,3] x", "y = GlobalMaxPool(x)"},
      {"float[1,16,2,3] x", "y = Upsample<scales = [1, 1, 2, 3]>(x)"},
      {"float[1,16,2,3] x", "y = Upsample<scales = [1, 1, 2, 3], mode = \"linear\">(x)"},
      {"float[1,16,4,3] x",
       "y = Upsample<scales = [1, 1, 2, 3], mode = \"linear\", coordinate_transformation_mode = "
       "\"half_pixel\">(x)"},
      {"float[2,16,3,1] x",
       "y = Upsample<scales = [1, 1, 2, 2], mode = \"linear\", coordinate_transformation_mode = "
       "\"align_corners\">(x)"},
  };
  for (const auto& [inputs, body] : cases) {
    SCOPED_TRACE(body);
    const ImportedModel model = Imported(inputs, body, block);
    std::vector<Tensor> values;
    for (const Value& input : model.graph.inputs()) {
      const Grid grid = Random(input.shape(), values.size() + 1);
      values.push_back(*Tensor::FromDoubles(input.type(), grid.values));
    }
    auto executable = MakeReferenceBackend()->Compile(model.graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto actual = (*executable)->Run(values);
    ASSERT_TRUE(actual.ok()) << actual.status();
    auto expected = (*ort)->Run(ModelOf(inputs, body).SerializeAsString(), values);
    ASSERT_TRUE(expected.ok()) << expected.status();
    EXPECT_EQ(Mismatch(model.graph, *actual, *expected), "");
  }
}

}  // namespace
}  // namespace lemma
