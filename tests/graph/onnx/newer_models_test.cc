// Element types and operator sets that newer models have.
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "runtime/reference/reference.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

constexpr float kInf = std::numeric_limits<float>::infinity();

absl::StatusOr<ImportedModel> Import(const onnx::ModelProto& model,
                                     const ImportOptions& options = {}) {
  return ImportOnnxBytes(model.SerializeAsString(), options);
}

std::vector<int64_t> Ints(const std::vector<int64_t>& values) { return values; }

// The first output of the model by the reference execution.
absl::StatusOr<Tensor> RunModel(const onnx::ModelProto& model, const std::vector<Tensor>& inputs,
                                const ImportOptions& options = {}) {
  auto imported = Import(model, options);
  if (!imported.ok()) return imported.status();
  auto executable = MakeReferenceBackend()->Compile(imported->graph, {});
  if (!executable.ok()) return executable.status();
  auto outputs = (*executable)->Run(inputs);
  if (!outputs.ok()) return outputs.status();
  return (*outputs)[0];
}

Tensor Floats(Shape shape, const std::vector<double>& values) {
  return *Tensor::FromDoubles({DType::kF32, std::move(shape)}, values);
}

onnx::TensorProto* AddInitializer(onnx::ModelProto* model, const std::string& name, int type,
                                  std::initializer_list<int64_t> dims) {
  onnx::TensorProto* tensor = model->mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(type);
  for (int64_t d : dims) tensor->add_dims(d);
  return tensor;
}

// The model, with inputs called "none" left out.
onnx::ModelProto Optional(onnx::ModelProto model) {
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    for (std::string& name : *node.mutable_input()) name = name == "none" ? "" : name;
  }
  return model;
}

void AddInts(onnx::ModelProto* model, const std::string& name, std::vector<int64_t> values) {
  auto* tensor =
      AddInitializer(model, name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())});
  for (int64_t v : values) tensor->add_int64_data(v);
}

TEST(ElementTypes, IntegersOfEveryWidthAreComputed) {
  auto model = OnnxModel("g (uint16[2] x) => (uint16[2] y) { y = Add(x, c) }");
  auto* c = AddInitializer(&model, "c", onnx::TensorProto::UINT16, {2});
  c->add_int32_data(1);
  c->add_int32_data(65535);
  auto y = RunModel(model, {*Tensor::FromInts({DType::kU16, {2}}, {7, 7})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToInts(), Ints({8, 6}));

  model = OnnxModel("g (uint64[2] x) => (bool[2] y) { y = Greater(x, c) }");
  c = AddInitializer(&model, "c", onnx::TensorProto::UINT64, {1});
  c->add_uint64_data(~uint64_t{0} - 1);
  y = RunModel(model, {*Tensor::FromInts({DType::kU64, {2}}, {7, -1})});  // -1 has all bits
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToInts(), Ints({0, 1}));

  model = OnnxModel("g (uint32[2] x) => (float[2] y) { y = Cast<to = 1>(x) }");
  y = RunModel(model, {*Tensor::FromInts({DType::kU32, {2}}, {3, 4294967295})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToDoubles(), std::vector<double>({3, 0x1p32}));
}

TEST(ElementTypes, BoundsOfIntegersKeepAllDigits) {
  auto model = OnnxModel("g (int64[2] x) => (int64[2] y) { y = Clip(x, low, high) }");
  AddInitializer(&model, "low", onnx::TensorProto::INT64, {})->add_int64_data(16777217);
  AddInitializer(&model, "high", onnx::TensorProto::INT64, {})->add_int64_data(9007199254740993);
  auto y = RunModel(model, {*Tensor::FromInts({DType::kI64, {2}}, {0, INT64_MAX})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToInts(), Ints({16777217, 9007199254740993}));
}

TEST(ElementTypes, WhatTouchesAnOpaqueTypeIsKept) {
  // 8: strings.
  auto model = OnnxModel(R"(g (float[2,3] x) => (float[3,2] y, float[2,3] z) {
    h = Cast<to = 8>(x)
    t = Transpose(h)
    y = Cast<to = 1>(t)
    z = Relu(x) })");
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->opaque.size(), 3);
  const std::string text = PrintGraph(imported->graph);
  EXPECT_THAT(text, HasSubstr("h: string[2,3] = opaque(x)"));
  EXPECT_THAT(text, HasSubstr("t: string[3,2] = opaque(h)"));
  EXPECT_THAT(text, HasSubstr("z = relu(x)"));
  auto again = ParseGraph(text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintGraph(*again), text);
  auto exported = ExportOnnx(imported->graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  auto reimported = ImportOnnxBytes(*exported);
  ASSERT_TRUE(reimported.ok()) << reimported.status();
  EXPECT_EQ(PrintGraph(reimported->graph), text);
}

TEST(ElementTypes, ConstantsOfOpaqueTypesAreKept) {
  auto model = OnnxModel(R"(g (string[2] x) => (bool[2] y) { y = Equal(x, c) })");
  AddInitializer(&model, "c", onnx::TensorProto::STRING, {1})->add_string_data("a");
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(PrintGraph(imported->graph), HasSubstr("c: string[1] = opaque()"));
  auto exported = ExportOnnx(imported->graph);
  ASSERT_TRUE(exported.ok()) << exported.status();
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(*exported));
  EXPECT_EQ(written.graph().node(0).attribute(0).t().string_data(0), "a");
  EXPECT_EQ(written.graph().node(1).op_type(), "Equal");
}

TEST(ElementTypes, ConstantsOfOpaqueTypesHaveNames) {
  auto model = OnnxModel(R"(g (float[2] x) => (float[2] y) { y = Relu(x) })");
  AddInitializer(&model, "", onnx::TensorProto::STRING, {});
  EXPECT_EQ(Import(model).status().message(), "an initializer has no name");
}

TEST(ElementTypes, PackedWeightsReachTheirDequantization) {
  auto model = OnnxModel(R"(g (float[2] x) => (float[2] y) {
    w = DequantizeLinear(q, scale)
    y = Add(x, w) })",
                         21);
  AddInitializer(&model, "q", 22, {2})->set_raw_data(std::string("\x21", 1));  // two 4-bit integers
  AddInitializer(&model, "scale", onnx::TensorProto::FLOAT, {})->add_float_data(0.5);
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(PrintGraph(imported->graph), HasSubstr("w = constant f32[2] [0.5, 1.0]"));
}

TEST(OperatorSets, TypesOfKeptOutputsAreInferred) {
  auto imported =
      Import(OnnxModel("g (float[3,4,4] x) => (float[3] y) { d = Det(x) y = Relu(d) }"));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(PrintGraph(imported->graph), HasSubstr("d: f32[3] = opaque(x)"));
}

TEST(OperatorSets, InferenceSurvivesWrongNodes) {
  // ONNX's library divides by a stride that is not there, or by what lies in its place.
  auto imported = Import(OnnxModel(R"(
    g (uint8[7,1,7] x, float s, uint8 z, uint8[1,1,1,1] w, float[1] v, uint8[1] u) => (float y) {
      h = QLinearConv(x, s, z, w, v, u, s, z)
      y = Size(h) })",
                                   21));
  EXPECT_THAT(imported.status().message(), HasSubstr("QLinearConv"));
}

TEST(OperatorSets, WhatALaterSetAllowsIsKept) {
  // Set 20 has extremes of truth values; no set has sums of them.
  auto y =
      RunModel(OnnxModel("g (bool[2,2] x) => (bool[2] y) {"
                         "a = Constant<value = int64[1] {1}>() y = ReduceMax<keepdims = 0>(x, a) }",
                         20),
               {*Tensor::FromInts({DType::kBool, {2, 2}}, {0, 1, 0, 0})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToInts(), Ints({1, 0}));
  auto imported = Import(OnnxModel("g (bool[2] x) => (bool[2] y) { y = Exp(x) }", 21));
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->opaque.size(), 1);
  EXPECT_FALSE(Import(OnnxModel("g (bool[2] x) => (bool[2] y) { y = Exp(x) }", 17)).ok());
}

TEST(OperatorSets, ReductionsOfNothing) {
  for (auto [op, expected] : {std::pair("ReduceMax", -kInf), std::pair("ReduceMin", kInf),
                              std::pair("ReduceLogSumExp", -kInf), std::pair("ReduceSum", 0.0f),
                              std::pair("ReduceProd", 1.0f)}) {
    auto model =
        OnnxModel(absl::StrCat("g (float[2,0] x) => (float[2,1] y) { y = ", op, "(x, a) }"), 20);
    AddInts(&model, "a", {-1});
    auto y = RunModel(model, {Floats({2, 0}, {})});
    ASSERT_TRUE(y.ok()) << op << y.status();
    EXPECT_EQ(y->ToDoubles(), std::vector<double>({expected, expected})) << op;
  }
}

TEST(OperatorSets, FourierTransformsHaveTheirAxisAsInput) {
  const double root = std::sqrt(3.0) / 2;
  // Along the axis before the last one: of (1, 0, 0) and of (0, 1, 0).
  auto model = OnnxModel("g (float[2,3,1] x) => (float[2,3,2] y) { y = DFT(x) }", 20);
  auto y = RunModel(model, {Floats({2, 3, 1}, {1, 0, 0, 0, 1, 0})});
  ASSERT_TRUE(y.ok()) << y.status();
  const std::vector<double> expected = {1, 0, 1, 0, 1, 0, 1, 0, -0.5, -root, -0.5, root};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(y->AtDouble(i), expected[i], 1e-6) << i;

  // (1, 2, 3) padded to four: 6, -2 - 2i, 2.
  model = OnnxModel("g (float[3,1] x) => (float[3,2] y) { y = DFT<onesided = 1>(x, n, a) }", 20);
  AddInitializer(&model, "n", onnx::TensorProto::INT64, {})->add_int64_data(4);
  AddInitializer(&model, "a", onnx::TensorProto::INT64, {})->add_int64_data(0);
  y = RunModel(model, {Floats({3, 1}, {1, 2, 3})});
  ASSERT_TRUE(y.ok()) << y.status();
  const std::vector<double> half = {6, 0, -2, -2, 2, 0};
  for (size_t i = 0; i < half.size(); ++i) EXPECT_NEAR(y->AtDouble(i), half[i], 1e-6) << i;

  // And back, to a real signal of four.
  model = OnnxModel(
      "g (float[3,2] x) => (float[4,1] y) { y = DFT<onesided = 1, inverse = 1>(x, n) }", 20);
  AddInitializer(&model, "n", onnx::TensorProto::INT64, {})->add_int64_data(4);
  y = RunModel(model, {Floats({3, 2}, half)});
  ASSERT_TRUE(y.ok()) << y.status();
  const std::vector<double> signal = {1, 2, 3, 0};
  for (size_t i = 0; i < signal.size(); ++i) EXPECT_NEAR(y->AtDouble(i), signal[i], 1e-6) << i;
}

TEST(OperatorSets, QuantizationInBlocks) {
  auto model = OnnxModel(R"(g (float[1,5] x) => (int16[1,5] y) {
    y = QuantizeLinear<axis = 1, block_size = 2, output_dtype = 5>(x, s) })",
                         21);
  auto* s = AddInitializer(&model, "s", onnx::TensorProto::FLOAT, {1, 3});
  for (float scale : {1.0f, 0.5f, 0.001f}) s->add_float_data(scale);
  auto y = RunModel(model, {Floats({1, 5}, {1.5, -2.5, 3, -4, 100})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToInts(), Ints({2, -2, 6, -8, 32767}));

  model = OnnxModel(R"(g (int8[3,1] x) => (float[3,1] y) {
    y = DequantizeLinear<axis = 0, block_size = 2>(x, s, z) })",
                    21);
  s = AddInitializer(&model, "s", onnx::TensorProto::FLOAT, {2, 1});
  for (float scale : {2.0f, 0.5f}) s->add_float_data(scale);
  auto* z = AddInitializer(&model, "z", onnx::TensorProto::INT8, {2, 1});
  for (int zero : {1, -1}) z->add_int32_data(zero);
  y = RunModel(model, {*Tensor::FromInts({DType::kI8, {3, 1}}, {4, -3, 7})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToDoubles(), std::vector<double>({6, -8, 4}));
}

TEST(OperatorSets, ResizeNamesItsAxes) {
  auto model = Optional(OnnxModel(
      "g (float[2,1,2] x) => (float[A,B,C] y) { y = Resize<axes = [2, 0]>(x, none, s) }", 18));
  auto* s = AddInitializer(&model, "s", onnx::TensorProto::FLOAT, {2});
  s->add_float_data(2);
  s->add_float_data(1);
  auto y = RunModel(model, {Floats({2, 1, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), Shape({2, 1, 4}));
  EXPECT_EQ(y->ToDoubles(), std::vector<double>({1, 1, 2, 2, 3, 3, 4, 4}));

  // Not larger than 6 x 3: both sides by 3/2.
  model = Optional(OnnxModel(R"(g (float[2,2] x) => (float[A,B] y) {
    y = Resize<keep_aspect_ratio_policy = "not_larger", mode = "nearest">(x, none, none, n) })",
                             18));
  AddInts(&model, "n", {6, 3});
  y = RunModel(model, {Floats({2, 2}, {1, 2, 3, 4})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->shape(), Shape({3, 3}));
}

TEST(OperatorSets, ResizeSmoothsWhereItShrinks) {
  // Weights 1/8, 3/8, 3/8, 1/8 around each middle; the outermost elements repeat.
  auto model = Optional(OnnxModel(
      R"(g (float[4] x) => (float[2] y) { y = Resize<mode = "linear", antialias = 1>(x, none, s) })",
      18));
  AddInitializer(&model, "s", onnx::TensorProto::FLOAT, {1})->add_float_data(0.5);
  auto y = RunModel(model, {Floats({4}, {8, 16, 32, 64})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToDoubles(), std::vector<double>({1 + 3 + 6 + 4, 2 + 12 + 24 + 8}));
}

TEST(OperatorSets, ResizeOfARegion) {
  // From 1/3 to 4/3 of the last position, 3: positions 1, 2.5 and 4, which is outside.
  auto model = Optional(OnnxModel(R"(g (float[4] x) => (float[3] y) {
    y = Resize<mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize",
               extrapolation_value = -1.0>(x, roi, none, n) })",
                                  13));
  auto* roi = AddInitializer(&model, "roi", onnx::TensorProto::FLOAT, {2});
  roi->add_float_data(1.0f / 3);
  roi->add_float_data(4.0f / 3);
  AddInts(&model, "n", {3});
  auto y = RunModel(model, {Floats({4}, {0, 10, 20, 30})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_NEAR(y->AtDouble(0), 10, 1e-4);
  EXPECT_NEAR(y->AtDouble(1), 25, 1e-4);
  EXPECT_EQ(y->AtDouble(2), -1);
}

TEST(OperatorSets, PadsThatWrapAround) {
  auto model = OnnxModel(R"(g (float[3] x) => (float[8] y) { y = Pad<mode = "wrap">(x, p) })", 19);
  AddInts(&model, "p", {4, 1});
  auto y = RunModel(model, {Floats({3}, {1, 2, 3})});
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_EQ(y->ToDoubles(), std::vector<double>({3, 1, 2, 3, 1, 2, 3, 1}));
}

TEST(GivenValues, ParametersAmongTheInputsAreConstants) {
  auto model = OnnxModel(R"(g (float[N,2] x, int64[1] axes, int64[2] shape) => (float[A,B] z) {
    y = ReduceSum<keepdims = 0>(x, axes)
    z = Reshape(y, shape) })");
  ImportOptions options;
  options.inputs = {Floats({3, 2}, {1, 2, 3, 4, 5, 6}), Tensor::Ints({1}), Tensor::Ints({1, -1})};
  auto z = RunModel(model, options.inputs, options);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->shape(), Shape({1, 3}));
  EXPECT_EQ(z->ToDoubles(), std::vector<double>({3, 7, 11}));
  auto imported = Import(model, options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->fixed_inputs, ElementsAre(Key("axes"), Key("shape")));
  EXPECT_THAT(imported->bound_dims, ElementsAre(testing::Pair("N", 3)));
}

TEST(GivenValues, DataDoNotBecomePartOfTheGraph) {
  // Operators that do without constants: the bounds of Clip, the value of Pad.
  auto model = OnnxModel(R"(g (float[3] x, float low, float[1] up) => (float[5] z) {
    high = Neg(up) one = Neg(high) top = ReduceMax<keepdims = 0>(one)
    y = Clip(x, low, top)
    z = Pad(y, p, low) })");
  AddInts(&model, "p", {1, 1});
  ImportOptions options;
  options.inputs = {Floats({3}, {-5, 1, 9}), Floats({}, {-2}), Floats({1}, {4})};
  auto imported = Import(model, options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->fixed_inputs.empty());
  auto z = RunModel(model, {Floats({3}, {-5, 1, 9}), Floats({}, {-3}), Floats({1}, {7})}, options);
  ASSERT_TRUE(z.ok()) << z.status();
  EXPECT_EQ(z->ToDoubles(), std::vector<double>({-3, -3, 1, 7, -3}));
}

TEST(NewerOperatorSetTest, ANoteSaysWhichIsTheNewestKnown) {
  for (const auto& [opset, notes] : {std::pair(26, 0), std::pair(99, 1)}) {
    auto imported =
        Import(OnnxModel("g (float[2] x) => (float[2] y) { z = Relu(x) y = Exp(z) }", opset));
    ASSERT_TRUE(imported.ok()) << imported.status();
    ASSERT_EQ(imported->notes.size(), static_cast<size_t>(notes));
    if (notes == 0) continue;
    EXPECT_THAT(imported->notes[0], HasSubstr("operator set 99 is newer than 26"));
  }
}

}  // namespace
}  // namespace lemma
