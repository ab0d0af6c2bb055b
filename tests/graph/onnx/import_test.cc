#include "graph/onnx/import.h"

#include <fstream>
#include <variant>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "graph/text/text.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

absl::StatusOr<ImportedModel> Import(const onnx::ModelProto& model, ImportOptions options = {}) {
  return ImportOnnxBytes(model.SerializeAsString(), options);
}

std::string Printed(const onnx::ModelProto& model, ImportOptions options = {}) {
  auto imported = Import(model, options);
  return imported.ok() ? PrintGraph(imported->graph, {}) : std::string(imported.status().message());
}

std::string ErrorOf(const onnx::ModelProto& model, ImportOptions options = {}) {
  auto imported = Import(model, options);
  EXPECT_FALSE(imported.ok());
  EXPECT_FALSE(absl::StrContains(imported.status().message(), "\n"));
  return std::string(imported.status().message());
}

TEST(ImportTest, KeepsNamesOfValues) {
  auto model = OnnxModel("net (float[2,3] x) => (float[2,4] y) { h = MatMul(x, w)  y = Relu(h) }");
  AddOnes(&model, "w", {3, 4});
  EXPECT_EQ(Printed(model), R"(graph net(x: f32[2,3], w: weight f32[3,4] = fill 1.0) {
  h = matmul(x, w)
  y = relu(h)
  return y
}
)");
}

TEST(ImportTest, AGemmWithoutCMayHaveItsFactor) {
  auto imported = ImportOnnxBytes(
      OnnxModel("g (float[2,3] a, float[3,4] b) => (float[2,4] y) { y = Gemm<beta = 0.5>(a, b) }")
          .SerializeAsString());
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->opaque.empty());
}

// Callers may give another value than the default, so nothing may be made of it beforehand.
TEST(ImportTest, AnInitializerThatIsAnInputTooStaysAnInput) {
  auto model =
      OnnxModel("g (float[2] x, float[2] w) => (float[2] z) { y = Mul(x, w) z = Mul(y, s) }");
  AddOnes(&model, "w", {2});
  AddOnes(&model, "s", {2});
  EXPECT_EQ(Printed(model), R"(graph g(x: f32[2], w: f32[2], s: weight f32[2] = fill 1.0) {
  y = mul(x, w)
  z = mul(y, s)
  return z
}
)");
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->notes, ElementsAre(HasSubstr("input 'w' has a default value")));
  ASSERT_EQ(imported->info.defaults.count("w"), 1u);
  EXPECT_THAT(imported->info.defaults["w"].ToDoubles(), ElementsAre(1, 1));
  // Before IR version 4 every initializer had to be an input.
  model.set_ir_version(3);
  EXPECT_THAT(Printed(model), HasSubstr("graph g(x: f32[2], w: weight f32[2] = fill 1.0"));
}

TEST(ImportTest, ShapesThatDependOnADefaultHoldForIt) {
  auto model = OnnxModel("g (float[2,3] x, int64[1] s) => (float[6] y) { y = Reshape(x, s) }");
  auto* shape = model.mutable_graph()->add_initializer();
  shape->set_name("s");
  shape->set_data_type(onnx::TensorProto::INT64);
  shape->add_dims(1);
  shape->add_int64_data(6);
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(PrintGraph(imported->graph), HasSubstr("y = reshape(x) {shape = [6]}"));
  EXPECT_THAT(imported->notes, testing::Contains(HasSubstr("input 's' is fixed to its default")));
  shape->set_int64_data(0, 7);
  EXPECT_THAT(ErrorOf(model), HasSubstr("y"));
}

TEST(ImportTest, ADefaultFitsItsInput) {
  auto model = OnnxModel("g (float[2] x, float[3] w) => (float[2] z) { z = Mul(x, w) }");
  AddOnes(&model, "w", {2});
  EXPECT_EQ(ErrorOf(model), "input 'w': f32[3] is declared, the value is f32[2]");
}

// ONNX's attributes are f32 numbers: 0.1 means 0.10000000149011612 in f64. Bounds in f64 are exact
// even if they are f32 numbers.
TEST(ImportTest, NumbersOfF64AreExact) {
  auto model = OnnxModel(
      "g (double[2] x) => (double[2] z, double[2] w) { y = LeakyRelu<alpha = 0.1>(x) "
      "z = Clip(y, low) w = LeakyRelu(x) }");
  onnx::TensorProto* low = model.mutable_graph()->add_initializer();
  low->set_name("low");
  low->set_data_type(onnx::TensorProto::DOUBLE);
  low->add_double_data(static_cast<double>(0.3f));
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  const Node& clip = imported->graph.outputs()[0].node();
  EXPECT_EQ(std::get<double>(clip.attrs().at("min")), static_cast<double>(0.3f));
  EXPECT_EQ(std::get<double>(clip.inputs()[0].node().attrs().at("alpha")),
            static_cast<double>(0.1f));
  // The default.
  const Node& leaky = imported->graph.outputs()[1].node();
  EXPECT_EQ(std::get<double>(leaky.attrs().at("alpha")), static_cast<double>(0.01f));
}

TEST(ImportTest, SortsNodes) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Relu(h)  h = Neg(x) }");
  EXPECT_THAT(Printed(model), HasSubstr("h = neg(x)\n  y = relu(h)"));
}

TEST(ImportTest, FoldsShapeArithmetic) {
  auto model = OnnxModel(R"(g (float[2,3,4] x) => (float[2,12] y) {
    s = Shape(x)
    i = Constant<value = int64 {0}>()
    b = Gather<axis = 0>(s, i)
    zero = Constant<value = int64[1] {0}>()
    b1 = Unsqueeze(b, zero)
    rest = Constant<value = int64[1] {-1}>()
    t = Concat<axis = 0>(b1, rest)
    y = Reshape(x, t) })");
  EXPECT_THAT(Printed(model), HasSubstr("{\n  y = reshape(x) {shape = [2, 12]}\n"));
}

TEST(ImportTest, BindsSymbolicDimensions) {
  auto model = OnnxModel("g (float[N,3] x) => (float[N,3] y) { y = Relu(x) }");
  auto one = Import(model);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->graph.inputs()[0].type().ToString(), "f32[1,3]");
  EXPECT_THAT(one->notes, ElementsAre("dimension N of input 'x' is taken to be 1"));
  EXPECT_THAT(one->info.inputs[0].dims, ElementsAre("N", "3"));
  ImportOptions options;
  options.dims["N"] = 8;
  auto eight = Import(model, options);
  ASSERT_TRUE(eight.ok()) << eight.status();
  EXPECT_EQ(eight->graph.inputs()[0].type().ToString(), "f32[8,3]");
  EXPECT_TRUE(eight->notes.empty());
  options.dims["M"] = 2;
  EXPECT_EQ(ErrorOf(model, options), "no dimension is called M; there are: N");
}

TEST(ImportTest, FixesInputsThatTellShapes) {
  auto model = OnnxModel("g (float[6] x, int64[2] s) => (float[A,B] y) { y = Reshape(x, s) }");
  auto open = Import(model);  // sizes that are known only at run time
  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->graph.outputs()[0].type().ToString(), "f32[y.0,y.1]");
  EXPECT_THAT(open->opaque, ElementsAre(HasSubstr("Reshape (input 1 's' must be a constant)")));
  ImportOptions options;
  options.input_values["s"] = Tensor::Ints({2, 3});
  auto imported = Import(model, options);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->graph.outputs()[0].type().ToString(), "f32[2,3]");
  EXPECT_THAT(imported->notes, ElementsAre("input 's' is fixed to the value given"));
}

TEST(ImportTest, KeepsUnknownOperatorsOpaque) {
  auto model =
      OnnxModel("g (float[2] x) => (float[2] y) { h = Frobnicate<k = 2>(x)  y = Relu(h) }");
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("(Frobnicate of operator set 17), which cannot be kept as it is: the model "
                        "declares no element type and shape of its output"));
  auto* info = model.mutable_graph()->add_value_info();
  *info = model.graph().output(0);
  info->set_name("h");
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_TRUE(imported->graph.outputs()[0].node().inputs()[0].node().IsOp("opaque"));
  EXPECT_THAT(imported->opaque, ElementsAre(HasSubstr("Frobnicate")));
}

// ONNX Runtime imports its domains into each model that it saves.
TEST(ImportTest, UnusedDomainsDoNotDistinguishOpaqueOperators) {
  onnx::ModelProto model = OnnxModel("g (float[4] x) => (int64[1,n] y) { y = NonZero(x) }");
  auto plain = ImportOnnxBytes(model.SerializeAsString());
  auto* entry = model.add_opset_import();
  entry->set_domain("com.microsoft");
  entry->set_version(1);
  auto more = ImportOnnxBytes(model.SerializeAsString());
  ASSERT_TRUE(plain.ok() && more.ok()) << plain.status() << more.status();
  EXPECT_EQ(plain->graph.outputs()[0], more->graph.outputs()[0]);
}

// A model with an If that stays opaque, since its branches differ in type. One calls my.G, which is
// `op`.
onnx::ModelProto CallsInABranch(const std::string& op) {
  auto model = OnnxModel(R"(g (float[2] x, bool c) => (float[2] y) {
    y = If (c) <then_branch = t () => (float[2] a) { a = my.G(x) },
                else_branch = e () => (int64[2] b) { b = Cast <to = 7> (x) }> })");
  auto* attributes = model.mutable_graph()->mutable_node(0)->mutable_attribute();
  for (auto& attribute : *attributes) {
    auto* node = attribute.mutable_g()->mutable_node(0);
    if (node->op_type() == "Cast") continue;
    node->set_domain("my");
    node->set_op_type("G");
  }
  auto* function = model.add_functions();
  function->set_name("G");
  function->set_domain("my");
  function->add_input("u");
  function->add_output("v");
  function->add_opset_import()->set_version(17);
  auto* node = function->add_node();
  node->set_op_type(op);
  node->add_input("u");
  node->add_output("v");
  auto* opset = model.add_opset_import();
  opset->set_domain("my");
  opset->set_version(1);
  return model;
}

TEST(ImportTest, FunctionsThatAnOpaqueNodeCallsAreOfIt) {
  auto neg = Import(CallsInABranch("Neg")), relu = Import(CallsInABranch("Relu"));
  ASSERT_TRUE(neg.ok() && relu.ok()) << neg.status() << relu.status();
  EXPECT_EQ(neg->opaque.size(), 1u);
  EXPECT_NE(neg->graph.StructuralHash(), relu->graph.StructuralHash());
  EXPECT_NE(neg->graph.outputs()[0], relu->graph.outputs()[0]);
  EXPECT_EQ(neg->graph.outputs()[0], Import(CallsInABranch("Neg"))->graph.outputs()[0]);
}

TEST(ImportTest, WhatDrawsRandomNumbersIsNeverShared) {
  const std::string text =
      "g (float[2] x) => (float[2] y) <float[2] a, float[2] b>"
      " { a = RandomNormalLike(x)  b = $  y = Sub(a, b) }";
  auto model = [&](const std::string& second) {
    std::string changed = text;
    return OnnxModel(changed.replace(changed.find('$'), 1, second));
  };
  auto two = Import(model("RandomNormalLike(x)")), one = Import(model("Identity(a)"));
  ASSERT_TRUE(two.ok() && one.ok()) << two.status() << one.status();
  EXPECT_EQ(two->graph.num_ops(), 3);
  EXPECT_EQ(one->graph.num_ops(), 2);
  auto marked = model("RandomNormalLike(x)");
  for (int i : {0, 1}) {
    marked.mutable_graph()->mutable_node(i)->set_doc_string("lemma: draw 7");
  }
  EXPECT_THAT(ErrorOf(marked), HasSubstr("two nodes are marked 'lemma: draw 7'"));
}

TEST(ImportTest, WhatIsSaidTwiceIsRefused) {
  auto softmax = OnnxModel("g (float[2,3] x) => (float[2,3] y) { y = Softmax<axis = 1>(x) }");
  auto attribute = softmax;
  *attribute.mutable_graph()->mutable_node(0)->add_attribute() =
      softmax.graph().node(0).attribute(0);
  EXPECT_THAT(ErrorOf(attribute), HasSubstr("attribute axis is given twice"));
  auto opset = softmax;
  opset.add_opset_import()->set_version(11);
  EXPECT_THAT(ErrorOf(opset), HasSubstr("operator sets 17 and 11 of domain '' are both named"));
  auto function = CallsInABranch("Neg");
  *function.add_functions() = CallsInABranch("Relu").functions(0);
  EXPECT_THAT(ErrorOf(function), HasSubstr("function my:G is defined twice"));
}

// A call of my.G, which is LeakyRelu with the attribute alpha that the call gives, or else `alpha`.
onnx::ModelProto HasADefault(float alpha) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Relu(x) }");
  model.mutable_graph()->mutable_node(0)->set_domain("my");
  model.mutable_graph()->mutable_node(0)->set_op_type("G");
  *model.add_functions() = CallsInABranch("LeakyRelu").functions(0);
  auto* function = model.mutable_functions(0);
  auto* reference = function->mutable_node(0)->add_attribute();
  reference->set_name("alpha");
  reference->set_type(onnx::AttributeProto::FLOAT);
  reference->set_ref_attr_name("alpha");
  onnx::AttributeProto value;
  value.set_name("alpha");
  value.set_type(onnx::AttributeProto::FLOAT);
  value.set_f(alpha);
  // FunctionProto.attribute_proto, which headers before ONNX 1.13 lack.
  function->GetReflection()->MutableUnknownFields(function)->AddLengthDelimited(
      11, value.SerializeAsString());
  return model;
}

TEST(ImportTest, FunctionsHaveDefaultsForAttributes) {
  EXPECT_THAT(Printed(HasADefault(0.5)), HasSubstr("leaky_relu(x) {alpha = 0.5}"));
  auto given = HasADefault(0.5);
  auto* attribute = given.mutable_graph()->mutable_node(0)->add_attribute();
  *attribute = given.functions(0).node(0).attribute(0);
  attribute->clear_ref_attr_name();
  attribute->set_f(0.25);
  EXPECT_THAT(Printed(given), HasSubstr("leaky_relu(x) {alpha = 0.25}"));
}

TEST(ImportTest, WhatCannotBeToldIsRefused) {
  auto overloaded = HasADefault(0.5);
  auto* function = overloaded.mutable_functions(0);
  function->GetReflection()->MutableUnknownFields(function)->AddLengthDelimited(13, "two");
  EXPECT_THAT(ErrorOf(overloaded), HasSubstr("overloads of functions are not known"));
  auto reference = OnnxModel("g (float[2] x) => (float[2] y) { y = LeakyRelu<alpha = 0.5>(x) }");
  reference.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_ref_attr_name("alpha");
  EXPECT_THAT(ErrorOf(reference), HasSubstr("attribute alpha is one of a function's"));
  // The same bytes beside another file are another model.
  auto external = CallsInABranch("Neg");
  auto* branch = external.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g();
  auto* tensor = branch->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(2);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  EXPECT_FALSE(Import(external).ok());
}

TEST(ImportTest, TakesTheKnownBranch) {
  auto model = OnnxModel(R"(g (float[2] x) => (float[2] y) {
    c = Constant<value = bool {1}>()
    y = If (c) <then_branch = t () => (float[2] a) { a = Relu(x) },
                else_branch = e () => (float[2] b) { b = Neg(x) }> })");
  EXPECT_THAT(Printed(model), HasSubstr("{\n  a = relu(x)\n  return y = a\n"));
}

TEST(ImportTest, InlinesFunctions) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = my.Twice<slope = 0.5>(x) }");
  model.mutable_graph()->mutable_node(0)->set_domain("my");
  model.mutable_graph()->mutable_node(0)->set_op_type("Twice");
  auto* function = model.add_functions();
  function->set_name("Twice");
  function->set_domain("my");
  function->add_input("a");
  function->add_output("c");
  function->add_attribute("slope");
  for (const char* io : {"ab", "bc"}) {
    auto* node = function->add_node();
    node->set_op_type("LeakyRelu");
    node->add_input(std::string(1, io[0]));
    node->add_output(std::string(1, io[1]));
    auto* attribute = node->add_attribute();
    attribute->set_name("alpha");
    attribute->set_ref_attr_name("slope");
    attribute->set_type(onnx::AttributeProto::FLOAT);
  }
  EXPECT_THAT(Printed(model), HasSubstr("leaky_relu(b) {alpha = 0.5}"));
}

TEST(ImportTest, NamesANodeOnACycle) {
  auto model =
      OnnxModel("g (float[2] x) => (float[2] y) { a = Add(x, b)  b = Relu(a)  y = Neg(b) }");
  EXPECT_EQ(ErrorOf(model), "node of 'a' (Add) lies on a cycle");
}

TEST(ImportTest, NamesWhatIsMissing) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  EXPECT_EQ(
      ErrorOf(model),
      "node of 'y' (Add): its input 'w' is no graph input, no initializer and no node's output");
  model = OnnxModel("g (float[2] x) => (float[2] z) { y = Relu(x) }");
  EXPECT_EQ(ErrorOf(model), "output 'z' is no graph input, no initializer and no node's output");
}

TEST(ImportTest, RefusesNamesDefinedTwice) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Relu(x)  y = Neg(x) }");
  EXPECT_EQ(ErrorOf(model), "node of 'y' (Neg): its output 'y' is defined twice");
  model = OnnxModel("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  AddOnes(&model, "w", {2});
  AddOnes(&model, "w", {2});
  EXPECT_EQ(ErrorOf(model), "initializer 'w' is defined twice");
}

TEST(ImportTest, RefusesShapesThatDoNotFit) {
  auto model = OnnxModel("g (float[2,3] x, float[4,5] w) => (float[2,5] y) { y = MatMul(x, w) }");
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("node of 'y' (MatMul of operator set 17): matmul(f32[2,3], f32[4,5])"));
  model = OnnxModel("g (float[2,3] x) => (int64[2,3] y) { y = Relu(x) }");
  EXPECT_EQ(ErrorOf(model), "output 'y' is f32[2,3], declared is i64[2,3]");
}

// Published models have such outputs, and ONNX Runtime runs them.
TEST(ImportTest, ADeclaredShapeOfAnOutputMayBeWrong) {
  for (const char* declared : {"float[3,2]", "float[1,n]", "float[6]"}) {
    const auto model =
        OnnxModel(absl::StrCat("g (float[2,3] x) => (", declared, " y) { y = Relu(x) }"));
    const auto imported = Import(model);
    ASSERT_TRUE(imported.ok()) << imported.status();
    EXPECT_EQ(imported->graph.outputs()[0].type().ToString(), "f32[2,3]");
    EXPECT_THAT(imported->info.outputs[0].dims, ElementsAre("2", "3"));
    EXPECT_THAT(imported->notes,
                ElementsAre(HasSubstr("output 'y' is f32[2,3], declared is f32[")));
  }
}

TEST(ImportTest, ComparesSizesBeforeAllocating) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  AddOnes(&model, "w", {});
  model.mutable_graph()->mutable_initializer(0)->add_dims(100'000);
  model.mutable_graph()->mutable_initializer(0)->add_dims(1'000'000);
  EXPECT_EQ(ErrorOf(model),
            "initializer 'w': f32[100000,1000000] needs 100000000000 values, has 1");
}

TEST(ImportTest, RefusesConstantsTooLargeToHold) {
  auto model = OnnxModel(R"(g (float[1] x) => (float[N] y) {
    s = Constant<value = int64[1] {9000000000}>()
    w = ConstantOfShape(s)
    y = Add(x, w) })");
  EXPECT_EQ(
      ErrorOf(model),
      "node of 'w' (ConstantOfShape of operator set 17): f32[9000000000] is larger than 2 GB");
}

TEST(ImportTest, SaysWhichTypesItLacks) {
  auto model = OnnxModel("g (uint16[2] x) => (uint16[2] y) { y = Identity(x) }");
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(99);
  auto imported = Import(model);
  EXPECT_EQ(imported.status(),
            absl::UnimplementedError("input 'x': unsupported: element type number 99"));
}

TEST(ImportTest, KeepsOpaqueWhatItDoesNotUnderstandOfNewerModels) {
  auto model = OnnxModel("g (float[2] x) => (float[2] y) { y = Relu<novelty = 1>(x) }", 21);
  auto imported = Import(model);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_THAT(imported->opaque, ElementsAre("node of 'y' (Relu of operator set 21): unsupported: "
                                            "Relu (attribute novelty is not known "
                                            "in operator set 21)"));
}

TEST(ImportTest, TellsDamagedFromForeign) {
  std::string bytes =
      OnnxModel("g (float[2] x) => (float[2] y) { y = Relu(x) }").SerializeAsString();
  EXPECT_EQ(ImportOnnxBytes(bytes.substr(0, bytes.size() / 2)).status().message(),
            "the ONNX model is truncated or damaged");
  EXPECT_EQ(ImportOnnxBytes("%PDF-1.4 some other file").status().message(), "not an ONNX model");
  EXPECT_EQ(ImportOnnxBytes("").status().message(), "not an ONNX model");
}

TEST(ImportTest, NamesTheFile) {
  EXPECT_THAT(std::string(ImportOnnx("no/such.onnx").status().message()),
              testing::StartsWith("no/such.onnx: cannot open"));
}

// No byte of a model is trusted.
TEST(ImportTest, SurvivesDamage) {
  auto model = OnnxModel(R"(g (float[N,4] x) => (float[N,2] y) {
    s = Shape(x)
    h = MatMul(x, w)
    c = ConstantOfShape(s)
    d = Add(h, b)
    e = Softmax<axis = -1>(d)
    y = If (t) <then_branch = p () => (float[N,2] m) { m = Relu(e) },
                else_branch = q () => (float[N,2] n) { n = Neg(e) }> })");
  AddOnes(&model, "w", {4, 2});
  AddOnes(&model, "b", {2});
  auto* condition = model.mutable_graph()->add_initializer();
  condition->set_name("t");
  condition->set_data_type(onnx::TensorProto::BOOL);
  condition->add_int32_data(1);
  const std::string bytes = model.SerializeAsString();
  ASSERT_TRUE(ImportOnnxBytes(bytes).ok()) << ImportOnnxBytes(bytes).status();
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(ImportOnnxBytes(bytes.substr(0, length)).ok()) << length;
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int flip : {0x01, 0x80, 0xff, 0x10}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      ImportOnnxBytes(damaged).status().IgnoreError();
    }
  }
}

class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(directory_ + "/w.bin", std::ios::binary) << std::string(16, '\0');
    model_ = OnnxModel("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
    AddOnes(&model_, "w", {2});
    auto* tensor = model_.mutable_graph()->mutable_initializer(0);
    tensor->clear_float_data();
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  }
  absl::Status Import(const std::string& location, const std::string& offset = "8",
                      const std::string& length = "8") {
    auto* tensor = model_.mutable_graph()->mutable_initializer(0);
    tensor->clear_external_data();
    for (const auto& [key, value] : std::map<std::string, std::string>{
             {"location", location}, {"offset", offset}, {"length", length}}) {
      auto* entry = tensor->add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    }
    std::string path = directory_ + "/model.onnx";
    std::ofstream(path, std::ios::binary) << model_.SerializeAsString();
    return ImportOnnx(path).status();
  }
  std::string directory_ = testing::TempDir();
  onnx::ModelProto model_;
};

TEST_F(ExternalDataTest, IsRead) { EXPECT_TRUE(Import("w.bin").ok()) << Import("w.bin"); }

TEST_F(ExternalDataTest, StaysBelowTheModel) {
  for (const char* location : {"../w.bin", "/etc/passwd", "a/../../w.bin", ""}) {
    EXPECT_THAT(std::string(Import(location).message()), HasSubstr("not below the model's folder"));
  }
}

TEST_F(ExternalDataTest, MustFit) {
  EXPECT_THAT(std::string(Import("w.bin", "12").message()),
              HasSubstr("has 16 bytes, 8 from byte 12"));
  EXPECT_THAT(std::string(Import("w.bin", "0", "16").message()),
              HasSubstr("needs 8 bytes, has 16"));
  EXPECT_THAT(std::string(Import("none.bin").message()), HasSubstr("none.bin: cannot open"));
  EXPECT_THAT(std::string(Import("w.bin", "-1").message()), HasSubstr("is no size"));
}

}  // namespace
}  // namespace lemma
