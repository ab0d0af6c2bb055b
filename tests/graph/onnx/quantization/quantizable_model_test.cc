// Which operators are found, and the models that are written.
#include "graph/onnx/quantization/quantizable_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/cpu/cpu_backend.h"
#include "runtime/reference/reference.h"
#include "tests/base/temp_files.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string Written(const onnx::ModelProto& model) {
  return WriteTemp("model.onnx", model.SerializeAsString());
}

QuantizableModel Read(const onnx::ModelProto& model) {
  auto read = QuantizableModel::Read(Written(model));
  EXPECT_TRUE(read.ok()) << read.status();
  return *std::move(read);
}

// Two products with a relu between them; all scales are powers of two.
constexpr char kLayers[] = R"(
  g (float[1,2] x) => (float[1,2] y) {
    v = Constant <value = float[2,2] {127.0, -64.0, 3.0, 127.0}> ()
    w = Constant <value = float[2,2] {127.0, 1.0, 0.5, 127.0}> ()
    b = Constant <value = float[2] {1.0, -2.0}> ()
    h = Gemm (x, v, b)
    r = Relu (h)
    y = MatMul (r, w)
  })";

QuantizationPlan AllOf(const QuantizableModel& model) {
  QuantizationPlan plan;
  plan.chosen = model.Settled(std::vector<bool>(model.operators().size(), true));
  for (const std::string& value : model.ValuesOf(plan.chosen)) {
    plan.values[value] = {DType::kU8, 1, 0};
  }
  return plan;
}

std::vector<std::string> TypesOf(const onnx::ModelProto& model) {
  std::vector<std::string> types;
  for (const auto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

// What Stage and CommitAll write.
onnx::ModelProto Staged(const QuantizedModel& model) {
  const std::string path = NewFolder() + "/q.onnx";
  auto files = model.Stage(path);
  EXPECT_TRUE(files.ok()) << files.status();
  EXPECT_TRUE(CommitAll(*std::move(files)).ok());
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(ReadAll(path)));
  return proto;
}

onnx::ModelProto Quantized(const QuantizableModel& model, const QuantizationPlan& plan) {
  auto quantized = model.Quantize(plan);
  EXPECT_TRUE(quantized.ok()) << quantized.status();
  return quantized.ok() ? Staged(*quantized) : onnx::ModelProto();
}

TEST(QuantizableModelTest, FindsProductsWithTheirActivations) {
  const QuantizableModel model = Read(OnnxModel(kLayers));
  ASSERT_EQ(model.operators().size(), 2u);
  const QuantizableOp& gemm = model.operators()[0];
  EXPECT_EQ(gemm.type, "Gemm");
  EXPECT_EQ(gemm.result, "r");
  EXPECT_THAT(gemm.reads, ElementsAre("x"));
  EXPECT_THAT(gemm.inner, ElementsAre("h", "r"));
  EXPECT_EQ(gemm.weight, "v");
  EXPECT_EQ(model.operators()[1].result, "y");
  EXPECT_THAT(model.ValuesOf({true, true}), UnorderedElementsAre("x", "r"));
}

TEST(QuantizableModelTest, WritesPairsAroundProducts) {
  const QuantizableModel model = Read(OnnxModel(kLayers));
  const onnx::ModelProto proto = Quantized(model, AllOf(model));
  EXPECT_THAT(TypesOf(proto), ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear",
                                          "DequantizeLinear", "Gemm", "Relu", "QuantizeLinear",
                                          "DequantizeLinear", "DequantizeLinear", "MatMul"));
  EXPECT_EQ(proto.producer_name(), "test");
  EXPECT_EQ(proto.graph().output(0).name(), "y");
  // The floats are gone; scales are along the axis of the output's channels.
  for (const auto& tensor : proto.graph().initializer()) {
    EXPECT_TRUE(tensor.data_type() != onnx::TensorProto::FLOAT || tensor.dims_size() < 2)
        << tensor.name();
  }
  EXPECT_EQ(proto.graph().node(2).attribute(0).i(), 1);
}

TEST(QuantizableModelTest, ComputesWithRoundedNumbersInEveryBackEnd) {
  const QuantizableModel model = Read(OnnxModel(kLayers));
  auto quantized = model.Quantize(AllOf(model));
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  auto imported = quantized->Import({}, {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {1, 2}}, {1.4, -3});
  // x is rounded to (1, 0), r = relu(127 + 1, -64 - 2) = (128, 0). The scales of w are 1 for both
  // channels: its 1.0 stays 1 and its 0.5 becomes 0, so y = (128 · 127, 128).
  for (const bool cpu : {false, true}) {
    auto executable =
        (cpu ? MakeCpuBackend() : MakeReferenceBackend())->Compile(imported->graph, {});
    ASSERT_TRUE(executable.ok()) << executable.status();
    auto outputs = (*executable)->Run({x});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_THAT((*outputs)[0].ToDoubles(), ElementsAre(128 * 127, 128)) << cpu;
  }
}

TEST(QuantizableModelTest, KeepsWhatIsNotChosen) {
  const QuantizableModel model = Read(OnnxModel(kLayers));
  QuantizationPlan plan = AllOf(model);
  plan.chosen = {false, true};
  plan.chosen = model.Settled(plan.chosen);
  EXPECT_THAT(TypesOf(Quantized(model, plan)),
              ElementsAre("Constant", "Constant", "Gemm", "Relu", "QuantizeLinear",
                          "DequantizeLinear", "DequantizeLinear", "MatMul"));
}

TEST(QuantizableModelTest, EverythingElseOfTheModelStays) {
  onnx::ModelProto before = OnnxModel(kLayers);
  before.set_doc_string("about it");
  auto* entry = before.add_metadata_props();
  entry->set_key("author");
  entry->set_value("me");
  before.mutable_graph()->set_doc_string("graph");
  before.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  before.mutable_graph()
      ->mutable_output(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("batch");
  before.mutable_graph()->mutable_node(3)->set_name("first");
  before.mutable_graph()->mutable_node(3)->set_doc_string("a layer");
  const QuantizableModel model = Read(before);
  const onnx::ModelProto after = Quantized(model, AllOf(model));
  EXPECT_EQ(after.doc_string(), "about it");
  EXPECT_EQ(after.metadata_props(0).value(), "me");
  EXPECT_EQ(after.graph().doc_string(), "graph");
  EXPECT_EQ(after.graph().input(0).SerializeAsString(),
            before.graph().input(0).SerializeAsString());
  EXPECT_EQ(after.graph().output(0).SerializeAsString(),
            before.graph().output(0).SerializeAsString());
  EXPECT_EQ(after.graph().node(4).name(), "first");
  EXPECT_EQ(after.graph().node(4).doc_string(), "a layer");
}

// A convolution with its normalization and activation, whose result has the pair behind it.
constexpr char kConv[] = R"(
  g (float[1,1,3,3] x) => (float[1,2,3,3] y) {
    w = Constant <value = float[2,1,1,1] {1.0, 0.0}> ()
    s = Constant <value = float[2] {2.0, 3.0}> ()
    b = Constant <value = float[2] {1.0, 0.5}> ()
    m = Constant <value = float[2] {4.0, 0.0}> ()
    v = Constant <value = float[2] {1.0, 1.0}> ()
    c = Conv (x, w)
    n = BatchNormalization <epsilon = 0.0> (c, s, b, m, v)
    y = Relu (n)
  })";

TEST(QuantizableModelTest, FoldsNormalizationIntoTheWeight) {
  const QuantizableModel model = Read(OnnxModel(kConv));
  ASSERT_EQ(model.operators().size(), 1u);
  QuantizationPlan plan = AllOf(model);
  auto weights = model.WeightsOf(0, plan);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(weights->weight, ElementsAre(2, 0));
  EXPECT_THAT(weights->bias, ElementsAre(-7, 0.5));
  // The second channel's weights are 0: its scale is that which the bias needs.
  const double step = weights->bias_scales[1];
  EXPECT_NEAR(weights->bias_integers[1] * step, 0.5, 1e-7);
  const onnx::ModelProto proto = Quantized(model, plan);
  EXPECT_THAT(TypesOf(proto), ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear",
                                          "DequantizeLinear", "Conv", "Relu", "QuantizeLinear",
                                          "DequantizeLinear"));
  EXPECT_EQ(proto.graph().node(7).output(0), "y");
}

// The output for the input [[1, 2]], by the definitions.
std::vector<double> OutputForOneTwo(const onnx::ModelProto& model) {
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  EXPECT_TRUE(imported.ok()) << imported.status();
  if (!imported.ok()) return {};
  auto executable = MakeReferenceBackend()->Compile(imported->graph, {});
  EXPECT_TRUE(executable.ok()) << executable.status();
  if (!executable.ok()) return {};
  const auto y = (*executable)->Run({{*Tensor::FromDoubles({DType::kF32, {1, 2}}, {1, 2})}});
  EXPECT_TRUE(y.ok()) << y.status();
  return y.ok() ? (*y)[0].ToDoubles() : std::vector<double>();
}

// ONNX Runtime multiplies integers only if the bias is an i32 of the scale of the sums.
TEST(QuantizableModelTest, AVectorAddedToAMatMulIsItsBias) {
  constexpr char kAdded[] = R"(
    g (float[1,2] x) => (float[1,2] y) {
      w = Constant <value = float[2,2] {127.0, 0.5, 2.0, 63.5}> ()
      b = Constant <value = float[2] {3.2, -1.3}> ()
      h = MatMul (x, w)
      s = Add (b, h)
      y = Relu (s)
    })";
  const QuantizableModel model = Read(OnnxModel(kAdded));
  ASSERT_EQ(model.operators().size(), 1u);
  EXPECT_EQ(model.operators()[0].added_bias, "b");
  EXPECT_EQ(model.operators()[0].result, "y");
  const onnx::ModelProto made = Quantized(model, AllOf(model));
  std::map<std::string, const onnx::NodeProto*> makers;
  for (const auto& node : made.graph().node()) makers[node.output(0)] = &node;
  const onnx::NodeProto& add = *makers.at("s");
  EXPECT_EQ(add.input(1), "h");
  ASSERT_EQ(makers.count(add.input(0)), 1u);
  EXPECT_EQ(makers.at(add.input(0))->op_type(), "DequantizeLinear");
  // Scales 1 of x, and 1 and 0.5 of the columns of w: the bias becomes 3 and -1.5.
  EXPECT_THAT(OutputForOneTwo(made), ElementsAre(127 + 4 + 3, 0.5 + 127 - 1.5));
  // The other forms leave the Add as it is.
  for (const auto form : {QuantizationForm::kDynamic, QuantizationForm::kWeights}) {
    QuantizationPlan plan = AllOf(model);
    plan.form = form;
    const onnx::ModelProto other = Quantized(model, plan);
    for (const auto& node : other.graph().node()) {
      if (node.output(0) != "s") continue;
      EXPECT_EQ(node.input(0), "b");
    }
  }
}

TEST(QuantizableModelTest, OtherAddsAreNoBiases) {
  for (const char* text : {
           "h = MatMul (x, w) s = Add (h, row) y = Relu (s)",    // another shape
           "h = MatMul (x, w) s = Add (h, b) y = Mul (s, h)",    // h is read twice
           "h = MatMul (x, w) y = Add (h, h)",                   // no constant
           "h = MatMul (x, w) s = Sub (h, b) y = Relu (s)",      // no Add
           "t = Transpose (x) h = MatMul (w, t) y = Add (h, b)"  // the weight is on the left
       }) {
    const QuantizableModel model = Read(OnnxModel(absl::StrCat(R"(
      g (float[2,2] x) => (float[2,2] y) {
        w = Constant <value = float[2,2] {1.0, 2.0, 3.0, 4.0}> ()
        b = Constant <value = float[2] {1.0, 2.0}> ()
        row = Constant <value = float[1,2] {1.0, 2.0}> ()
        )",
                                                               text, "}")));
    ASSERT_FALSE(model.operators().empty()) << text;
    const QuantizableOp& product = model.operators()[model.operators()[0].type != "MatMul"];
    EXPECT_EQ(product.type, "MatMul");
    EXPECT_EQ(product.added_bias, "") << text;
    EXPECT_EQ(product.result, "h") << text;
  }
}

// Such as masks in front of a softmax.
TEST(QuantizableModelTest, InfiniteAndHugeBiasesStayFloats) {
  for (const float number : {-INFINITY, NAN, -1e30F}) {
    onnx::ModelProto proto = OnnxModel(R"(
      g (float[2,2] x) => (float[2,2] y) {
        w = Constant <value = float[2,2] {1.0, 2.0, 3.0, 4.0}> ()
        b = Constant <value = float[2] {1.0, 2.0}> ()
        h = MatMul (x, w)
        s = Add (h, b)
        y = Softmax (s)
      })");
    for (auto& node : *proto.mutable_graph()->mutable_node()) {
      if (node.output(0) == "b") node.mutable_attribute(0)->mutable_t()->set_float_data(1, number);
    }
    const QuantizableModel model = Read(proto);
    ASSERT_EQ(model.operators().size(), 1u);
    EXPECT_EQ(model.operators()[0].result, std::isfinite(number) ? "s" : "h");
    for (const bool per_channel : {false, true}) {
      QuantizationPlan plan = AllOf(model);
      plan.weights.per_channel = per_channel;
      const onnx::ModelProto made = Quantized(model, plan);
      for (const auto& node : made.graph().node()) {
        EXPECT_NE(node.op_type() == "Add" ? node.input(1) : "", "b_dequantized") << number;
      }
      // The scale of the weight does not grow with the bias.
      int scales = 0;
      for (const auto& tensor : made.graph().initializer()) {
        if (tensor.name() != "w_scale") continue;
        ++scales;
        const auto* values = reinterpret_cast<const float*>(tensor.raw_data().data());
        ASSERT_GE(tensor.raw_data().size(), sizeof(float));
        for (size_t i = 0; i < tensor.raw_data().size() / sizeof(float); ++i) {
          EXPECT_LT(values[i], 0.1F);
        }
      }
      EXPECT_EQ(scales, 1);
    }
  }
}

// The bias of a channel without weights, as of a pruned one, is not rounded coarsely.
TEST(QuantizableModelTest, ABiasWithoutWeightsKeepsItsValue) {
  const QuantizableModel model = Read(OnnxModel(R"(
    g (float[1,2] x) => (float[1,2] y) {
      w = Constant <value = float[2,2] {127.0, 0.0, 2.0, 0.0}> ()
      b = Constant <value = float[2] {1.0, 0.3}> ()
      h = MatMul (x, w)
      y = Add (h, b)
    })"));
  const onnx::ModelProto made = Quantized(model, AllOf(model));
  const std::vector<double> y = OutputForOneTwo(made);
  ASSERT_EQ(y.size(), 2u);
  EXPECT_NEAR(y[1], 0.3, 1e-6);
}

TEST(QuantizableModelTest, AWeightMayBeSharedOrAnOutput) {
  const QuantizableModel model = Read(OnnxModel(R"(
    g (float[1,2] x) => (float[1,2] y, float[2,2] w) {
      w = Constant <value = float[2,2] {1.0, 2.0, 3.0, 4.0}> ()
      h = MatMul (x, w)
      y = MatMul (h, w)
    })"));
  const onnx::ModelProto proto = Quantized(model, AllOf(model));
  EXPECT_THAT(TypesOf(proto), ElementsAre("QuantizeLinear", "DequantizeLinear", "Constant",
                                          "DequantizeLinear", "MatMul", "QuantizeLinear",
                                          "DequantizeLinear", "DequantizeLinear", "MatMul"));
}

TEST(QuantizableModelTest, SaysWhyOperatorsStay) {
  onnx::ModelProto model = OnnxModel(R"(
    g (float[2,2] x, float[2,2] w, bool c) => (float[2,2] y, float[2,2] z, float[2,2] i) {
      v = Constant <value = float[2,2] {1.0, 2.0, 3.0, 4.0}> ()
      y = Gemm (x, w)
      z = Gemm <alpha = 0.5> (x, v)
      i = If (c) <then_branch = t () => (float[2,2] a) { a = MatMul (x, v) },
                  else_branch = e () => (float[2,2] a) { a = Identity (x) }>
    })");
  const QuantizableModel read = Read(model);
  EXPECT_TRUE(read.operators().empty());
  ASSERT_EQ(read.kept().size(), 3u);
  EXPECT_EQ(read.kept()[0].reason, "its weight 'w' is not a constant");
  EXPECT_EQ(read.kept()[1].reason, "alpha is not 1");
  EXPECT_EQ(read.kept()[2].reason, "it has subgraphs, which stay as they are");
}

TEST(QuantizableModelTest, DefaultValuesOfInputsAreNoConstants) {
  onnx::ModelProto model =
      OnnxModel("g (float[1,2] x, float[2,2] w) => (float[1,2] y) { y = Gemm (x, w) }");
  AddOnes(&model, "w", {2, 2});
  EXPECT_EQ(Read(model).kept()[0].reason, "its weight 'w' is not a constant");
  // Before IR version 4 every constant had to be an input.
  model.set_ir_version(3);
  const QuantizableModel read = Read(model);
  ASSERT_EQ(read.operators().size(), 1u);
  const onnx::ModelProto proto = Quantized(read, AllOf(read));
  EXPECT_EQ(proto.ir_version(), 4);
  EXPECT_EQ(proto.graph().input_size(), 1);
}

TEST(QuantizableModelTest, ConstantsOfOldModelsAreInputsNoMore) {
  onnx::ModelProto model = OnnxModel(
      "g (float[1,2] x, float[2,2] w, float[2] b) => (float[1,2] y) { p = MatMul (x, w) y = Add "
      "(p, b) }",
      11);
  AddOnes(&model, "w", {2, 2});
  AddOnes(&model, "b", {2});
  model.set_ir_version(3);
  const QuantizableModel read = Read(model);
  QuantizationPlan plan = AllOf(read);
  const onnx::ModelProto proto = Quantized(read, plan);  // of operator set 13
  EXPECT_GE(proto.ir_version(), 4);
  EXPECT_EQ(proto.graph().input_size(), 1);
}

TEST(QuantizableModelTest, FunctionsKeepTheirOperatorSet) {
  onnx::ModelProto model =
      OnnxModel("g (float[1,2] x) => (float[1,2] y) { y = MatMul (x, w) }", 11);
  AddOnes(&model, "w", {2, 2});
  auto* function = model.add_functions();
  function->set_name("F");
  function->set_domain("local");
  function->add_opset_import()->set_version(11);
  const QuantizableModel read = Read(model);
  auto quantized = read.Quantize(AllOf(read));
  ASSERT_FALSE(quantized.ok());
  EXPECT_THAT(std::string(quantized.status().message()), HasSubstr("the function 'F' is of 11"));
}

TEST(QuantizableModelTest, RaisesTheOperatorSetOrRefuses) {
  QuantizableModel model = Read(OnnxModel(kLayers, 11));
  auto quantized = model.Quantize(AllOf(model));
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  EXPECT_THAT(quantized->notes(), ElementsAre(HasSubstr("operator set 13, the input of 11")));
  EXPECT_EQ(Staged(*quantized).opset_import(0).version(), 13);
  QuantizationPlan plan = AllOf(model);
  plan.weights.per_channel = false;
  quantized = model.Quantize(plan);
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  EXPECT_EQ(Staged(*quantized).opset_import(0).version(), 11);
  model = Read(OnnxModel(R"(
    g (float[2,2] x) => (float[2,2] y) {
      w = Constant <value = float[2,2] {1.0, 2.0, 3.0, 4.0}> ()
      s = Constant <value = float[2] {1.0, 1.0}> ()
      h = MatMul (x, w)
      y = Resize (h, s)
    })",
                         10));
  quantized = model.Quantize(AllOf(model));
  ASSERT_FALSE(quantized.ok());
  EXPECT_THAT(quantized.status().message(),
              HasSubstr("scales per channel need operator set 13, but the model is of 10 and "
                        "Resize 'y' changes in operator set 11"));
}

TEST(QuantizableModelTest, RewritesOperatorsForALaterSet) {
  // The weights are whole steps, so the result has to be the same, bit by bit.
  const onnx::ModelProto before = OnnxModel(R"(
    g (float[3,2] x) => (float[2,2] y, float[1,2] z, float[3,2] u) {
      w = Constant <value = float[2,2] {127.0, 2.0, 3.0, -127.0}> ()
      h = MatMul (x, w)
      c = Clip <min = -50.0, max = 60.0> (h)
      s = Slice <starts = [1], ends = [3], axes = [0]> (c)
      a = Unsqueeze <axes = [0]> (s)
      b = Squeeze <axes = [0]> (a)
      y = Softmax <axis = 0> (b)
      z = ReduceSum <axes = [0]> (b)
      p, q = Split <axis = 1, split = [1, 1]> (c)
      u = Concat <axis = 1> (q, p)
    })",
                                            9);
  const QuantizableModel model = Read(before);
  QuantizationPlan plan;
  plan.form = QuantizationForm::kWeights;
  for (size_t i = 0; i < model.operators().size(); ++i) {
    plan.chosen.push_back(model.operators()[i].type == "MatMul");
  }
  auto quantized = model.Quantize(plan);
  ASSERT_TRUE(quantized.ok()) << quantized.status();
  EXPECT_EQ(Staged(*quantized).opset_import(0).version(), 13);
  auto expected = model.Import({}, {}), actual = quantized->Import({}, {});
  ASSERT_TRUE(expected.ok() && actual.ok()) << actual.status();
  const Tensor x = *Tensor::FromDoubles({DType::kF32, {3, 2}}, {0.1, 0.2, -1, 0.3, 0.01, -0.02});
  auto before_run = (*MakeReferenceBackend()->Compile(expected->graph, {}))->Run({x});
  auto after_run = (*MakeReferenceBackend()->Compile(actual->graph, {}))->Run({x});
  ASSERT_TRUE(before_run.ok() && after_run.ok());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE((*before_run)[i].SameBytes((*after_run)[i])) << i;
  }
}

TEST(QuantizableModelTest, RefusesWhatIsNoFloatModel) {
  auto read = QuantizableModel::Read(WriteTemp("m.onnx", "text"));
  EXPECT_THAT(read.status().message(), HasSubstr("m.onnx: not an ONNX model"));
  read = QuantizableModel::Read(Written(OnnxModel(R"(
    g (float[1] x, float s) => (uint8[1] y) { y = QuantizeLinear (x, s) })")));
  EXPECT_THAT(read.status().message(),
              HasSubstr("is quantized already: it has QuantizeLinear 'y'"));
}

TEST(QuantizableModelTest, TransposedConstantsAreConstants) {
  const QuantizableModel model = Read(OnnxModel(R"(
    g (float[1,2] x) => (float[1,3] y) {
      w = Constant <value = float[3,2] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> ()
      i = Identity (w)
      t = Transpose (i)
      y = MatMul (x, t)
    })"));
  ASSERT_EQ(model.operators().size(), 1u);
  const QuantizationPlan plan = AllOf(model);
  auto weights = model.WeightsOf(0, plan);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_THAT(weights->weight, ElementsAre(1, 3, 5, 2, 4, 6));
  EXPECT_THAT(TypesOf(Quantized(model, plan)),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "MatMul"));
}

TEST(QuantizableModelTest, PoolsAndSumsFollowQuantizedProducts) {
  const QuantizableModel model = Read(OnnxModel(R"(
    g (float[1,1,4,4] x) => (float[1,1,2,2] y) {
      w = Constant <value = float[1,1,1,1] {1.0}> ()
      a = Conv (x, w)
      p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a)
      s = Add (p, p)
      y = Conv (s, w)
    })"));
  const QuantizationPlan plan = AllOf(model);
  EXPECT_THAT(plan.chosen, ElementsAre(true, true, true, true));
  // Without the first product, the pool has nothing to follow, and the sum neither.
  EXPECT_THAT(model.Settled({false, true, true, true}), ElementsAre(false, false, false, true));
  // Nobody would read a pool's integers.
  EXPECT_THAT(model.Settled({true, true, false, false}), ElementsAre(true, false, false, false));
}

}  // namespace
}  // namespace lemma
