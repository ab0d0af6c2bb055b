// What an export keeps of the model that a graph was imported from.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "gmock/gmock.h"
#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/origin/kept_bodies.h"
#include "gtest/gtest.h"
#include "tests/graph/onnx/onnx_checker.h"
#include "tests/graph/onnx/onnx_text.h"

namespace lemma {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ImportedModel Import(const onnx::ModelProto& model) {
  auto imported = ImportOnnxBytes(model.SerializeAsString());
  EXPECT_TRUE(imported.ok()) << imported.status();
  return imported.ok() ? *std::move(imported) : ImportedModel();
}

onnx::ModelProto Export(const ImportedModel& model, const Graph& graph,
                        std::vector<std::string>* notes = nullptr) {
  ExportOptions options;
  options.info = model.info;
  options.notes = notes;
  auto bytes = ExportOnnx(graph, options);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  onnx::ModelProto proto;
  if (!bytes.ok() || !proto.ParseFromString(*bytes)) return proto;
  auto again = ImportOnnxBytes(*bytes);
  EXPECT_TRUE(again.ok()) << again.status();
  if (again.ok()) {
    EXPECT_EQ(again->graph.StructuralHash(), graph.StructuralHash());
  }
  return proto;
}

// The graph with each operator for which `change` gives something replaced, and the labels.
Graph Changed(const Graph& graph,
              const std::function<Value(const Node&, const std::vector<Value>&)>& change) {
  GraphBuilder builder(graph.name());
  absl::flat_hash_map<Value, Value> now;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    now[graph.inputs()[i]] = builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (const NodePtr& node : graph.nodes()) {
    std::vector<Value> inputs;
    for (const Value& input : node->inputs()) inputs.push_back(now.at(input));
    Value changed = node->is_op() ? change(*node, inputs) : Value();
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value old(node, k);
      if (now.contains(old)) continue;
      if (changed) {
        now[old] = changed;
      } else if (node->is_op()) {
        now[old] = Value(Node::Apply(&node->op(), inputs, node->attrs(), node->types()), k);
      } else {
        now[old] = old;
      }
      builder.Label(now[old], std::string(graph.LabelOf(old)));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], now.at(graph.outputs()[i]));
  }
  return *std::move(builder).Build();
}

// relu(x) becomes max(x, x).
Value ReluToMax(const Node& node, const std::vector<Value>& inputs) {
  if (!node.IsOp("relu")) return Value();
  return (*ApplyOp("max", {inputs[0], inputs[0]}, {}))[0];
}

std::vector<std::string> Operators(const onnx::ModelProto& model) {
  std::vector<std::string> types;
  for (const auto& node : model.graph().node()) types.push_back(node.op_type());
  return types;
}

// A model with everything that should be kept, of which one node will change.
onnx::ModelProto Documented() {
  auto model = OnnxModel(R"(g (float[2,3] x) => (float[2,4] y, float[2,4] z) {
    h = Gemm<alpha = 0.5, transB = 1>(x, w, b)
    r = Relu(h)
    s = Softmax<axis = 1>(r)
    d, mask = Dropout(s)
    y = Add(d, one)
    z = Tanh(h) })",
                         13);
  model.set_ir_version(7);
  AddOnes(&model, "w", {4, 3});
  AddOnes(&model, "unused", {4});
  AddOnes(&model, "b", {4});
  AddOnes(&model, "one", {});
  model.set_producer_version("3.1");
  model.set_domain("org.example");
  model.set_doc_string("a model");
  model.set_model_version(7);
  auto* entry = model.add_metadata_props();
  entry->set_key("author");
  entry->set_value("someone");
  auto* graph = model.mutable_graph();
  graph->set_doc_string("a graph");
  for (auto& node : *graph->mutable_node()) {
    node.set_name("the " + node.op_type());
    node.set_doc_string("makes " + node.output(0));
  }
  graph->mutable_initializer(0)->set_doc_string("a weight");
  graph->mutable_input(0)->set_doc_string("an input");
  auto* info = graph->add_value_info();
  *info = graph->output(0);
  info->set_name("s");
  info->set_doc_string("probabilities");
  return model;
}

TEST(KeptTest, AGraphThatDidNotChangeGivesItsModel) {
  onnx::ModelProto model = Documented();
  const ImportedModel imported = Import(model);
  const onnx::ModelProto written = Export(imported, imported.graph);
  EXPECT_EQ(CheckWithOnnx(written.SerializeAsString()), "");
  model.mutable_graph()->mutable_initializer()->DeleteSubrange(1, 1);  // nothing reads it
  EXPECT_EQ(written.graph().initializer_size(), 3);
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {  // the same values as bytes
    for (float value : tensor.float_data()) {
      tensor.mutable_raw_data()->append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    tensor.clear_float_data();
  }
  EXPECT_EQ(written.DebugString(), model.DebugString());
}

TEST(KeptTest, OnlyTheNodeThatChangedIsNew) {
  const onnx::ModelProto model = Documented();
  const ImportedModel imported = Import(model);
  const onnx::ModelProto written = Export(imported, Changed(imported.graph, ReluToMax));
  EXPECT_EQ(CheckWithOnnx(written.SerializeAsString()), "");
  ASSERT_EQ(written.graph().node_size(), model.graph().node_size());
  for (int i = 0; i < model.graph().node_size(); ++i) {
    const onnx::NodeProto& was = model.graph().node(i);
    if (was.op_type() == "Relu") {
      EXPECT_EQ(written.graph().node(i).name(), "the Relu/Max");
      EXPECT_THAT(written.graph().node(i).output(), ElementsAre("r"));
    } else {
      EXPECT_EQ(written.graph().node(i).DebugString(), was.DebugString());
    }
  }
  EXPECT_EQ(written.metadata_props(0).value(), "someone");
  EXPECT_EQ(written.opset_import(0).version(), 13);
  EXPECT_EQ(written.graph().value_info(0).doc_string(), "probabilities");
}

// The model's node of its name, or the one whose inputs are what they were.
TEST(KeptTest, FindsNodesBetweenChanges) {
  auto model = OnnxModel(R"(g (float[2,2] x) => (float[2,2] y) {
    a = Relu(x)
    b = MatMul(a, v)
    c = MatMul(b, w)
    y = Relu(c) })");
  AddOnes(&model, "v", {2, 2});
  AddOnes(&model, "w", {2, 2});
  for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("n_" + node.output(0));
  const ImportedModel imported = Import(model);
  Graph changed = Changed(imported.graph, ReluToMax);
  std::vector<std::string> names;
  const onnx::ModelProto written = Export(imported, changed);
  for (const auto& node : written.graph().node()) names.push_back(node.name());
  EXPECT_THAT(names, ElementsAre("n_a/Max", "n_b", "n_c", "n_y/Max"));
}

TEST(KeptTest, RaisesTheOperatorSetOnlyIfAnOperatorNeedsIt) {
  auto model = OnnxModel(R"(g (float[2,3] x) => (float[2] y) {
    r = Relu(x)
    s = ReduceSum<axes = [1], keepdims = 1>(r)
    y = Squeeze<axes = [1]>(s) })",
                         9);
  model.set_ir_version(4);
  const ImportedModel imported = Import(model);
  std::vector<std::string> notes;
  onnx::ModelProto written = Export(imported, Changed(imported.graph, ReluToMax), &notes);
  EXPECT_EQ(written.opset_import(0).version(), 9);
  EXPECT_THAT(notes, IsEmpty());
  const Graph sums = Changed(imported.graph, [](const Node& node, const std::vector<Value>& in) {
    if (!node.IsOp("relu")) return Value();
    return (*ApplyOp("cumsum", {in[0]}, {{"axis", int64_t{1}}}))[0];
  });
  written = Export(imported, sums, &notes);
  EXPECT_EQ(CheckWithOnnx(written.SerializeAsString()), "");
  EXPECT_EQ(written.opset_import(0).version(), 11);
  EXPECT_EQ(written.ir_version(), 4);
  EXPECT_THAT(Operators(written), ElementsAre("CumSum", "ReduceSum", "Squeeze"));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("operator set 11, the input of 9: node 'r/CumSum'")));
}

TEST(KeptTest, NodesOfEarlierSetsAreSpelledAnewInLaterOnes) {
  auto model = OnnxModel(R"(g (float[2,3,4] x) => (float[2,3] y) {
    r = Relu(x)
    s = Softmax<axis = 2>(r)
    t = ReduceSum<axes = [-1], keepdims = 1>(s)
    y = Squeeze<axes = [2]>(t) })",
                         11);
  const ImportedModel imported = Import(model);
  const Graph changed = Changed(imported.graph, [](const Node& node, const std::vector<Value>& in) {
    if (!node.IsOp("relu")) return Value();
    return (*ApplyOp("trilu", {in[0]}, {}))[0];
  });
  const onnx::ModelProto written = Export(imported, changed);
  EXPECT_EQ(CheckWithOnnx(written.SerializeAsString()), "");
  EXPECT_EQ(written.opset_import(0).version(), 14);
}

TEST(KeptTest, ShapeArithmeticStays) {
  auto model = OnnxModel(R"(g (float[2,3,4] x) => (float[2,12] y) {
    r = Relu(x)
    s = Shape(r)
    zero = Constant<value = int64[1] {0}>()
    one = Constant<value = int64[1] {1}>()
    n = Slice(s, zero, one)
    rest = Constant<value = int64[1] {-1}>()
    shape = Concat<axis = 0>(n, rest)
    y = Reshape(r, shape) })");
  const ImportedModel imported = Import(model);
  EXPECT_EQ(Export(imported, imported.graph).DebugString(), model.DebugString());
  // The value has another source, and still the same type.
  const onnx::ModelProto written = Export(imported, Changed(imported.graph, ReluToMax));
  EXPECT_THAT(Operators(written), ElementsAre("Max", "Shape", "Constant", "Constant", "Slice",
                                              "Constant", "Concat", "Reshape"));
}

TEST(KeptTest, NodesThatOnlyPassValuesOnStay) {
  auto model = OnnxModel(R"(g (float[2] x) => (float[2] y, float[2] z) {
    a = Identity(x)
    b = Relu(a)
    c = Identity(b)
    d = Relu(x)
    y = Add(c, d)
    z = Identity(x) })");
  const ImportedModel imported = Import(model);
  EXPECT_EQ(Export(imported, imported.graph).DebugString(), model.DebugString());
}

TEST(KeptTest, ListsSubgraphsAndFunctionsStay) {
  auto model = OnnxModel(R"(g (float[4] x, float[4] k) => (float[4] y, float[4] z) {
    parts = SplitToSequence(x)
    joined = ConcatFromSequence<axis = 0>(parts)
    y = Relu(joined)
    go = Constant<value = bool[1] {1}>()
    one = Squeeze(go)
    f = Twice(y)
    z = If<then_branch = then () => (float[4] t) { t = Mul(f, k) },
           else_branch = other () => (float[4] e) { e = Neg(k) }>(one) })");
  model.mutable_graph()->mutable_node(5)->set_domain("local");
  auto* entry = model.add_opset_import();
  entry->set_domain("local");
  entry->set_version(1);
  auto* twice = model.add_functions();
  twice->set_domain("local");
  twice->set_name("Twice");
  twice->add_input("a");
  twice->add_output("b");
  auto* add = twice->add_node();
  add->set_op_type("Add");
  add->add_input("a");
  add->add_input("a");
  add->add_output("b");
  *twice->add_opset_import() = model.opset_import(0);
  const ImportedModel imported = Import(model);
  EXPECT_EQ(Export(imported, imported.graph).DebugString(), model.DebugString());
  const onnx::ModelProto written = Export(imported, Changed(imported.graph, ReluToMax));
  EXPECT_THAT(Operators(written), ElementsAre("SplitToSequence", "ConcatFromSequence", "Constant",
                                              "Squeeze", "Max", "Twice", "If"));
  EXPECT_EQ(written.functions_size(), 1);
}

onnx::FunctionProto Function(const std::string& name, const std::string& nodes,
                             const std::string& attribute = "") {
  const auto body = OnnxModel("f (float[4] a) => (float[4] b) {" + nodes + "}");
  onnx::FunctionProto function;
  function.set_domain("local");
  function.set_name(name);
  function.add_input("a");
  function.add_output("b");
  *function.mutable_node() = body.graph().node();
  *function.add_opset_import() = body.opset_import(0);
  auto* local = function.add_opset_import();
  local->set_domain("local");
  local->set_version(1);
  for (auto& node : *function.mutable_node()) {
    if (node.op_type() == "Inner") node.set_domain("local");
  }
  if (attribute.empty()) return function;
  function.add_attribute(attribute);
  for (auto& node : *function.mutable_node()) {
    for (auto& value : *node.mutable_attribute()) {
      if (value.name() != "alpha" && value.name() != attribute) continue;
      value.clear_f();
      value.set_type(onnx::AttributeProto::FLOAT);
      value.set_ref_attr_name(attribute);
    }
  }
  return function;
}

// Three calls of functions that call others, with attributes.
onnx::ModelProto Calls() {
  auto model = OnnxModel(R"(g (float[4] x) => (float[4] y, float[4] z, float[4] w) {
    y = Outer<slope = 0.5>(x)
    t = Tanh(x)
    z = Outer<slope = 0.25>(t)
    w = Plain(x) })");
  const char* const names[] = {"first", "tanh", "second", "third"};
  for (int i = 0; i < 4; ++i) {
    auto* node = model.mutable_graph()->mutable_node(i);
    node->set_name(names[i]);
    if (i != 1) node->set_domain("local");
  }
  auto* entry = model.add_opset_import();
  entry->set_domain("local");
  entry->set_version(1);
  *model.add_functions() =
      Function("Outer", "h = Inner<slope = 1.0>(a) s = Sin(h) b = Add(s, a)", "slope");
  *model.add_functions() = Function("Inner", "b = LeakyRelu<alpha = 1.0>(a)", "slope");
  *model.add_functions() = Function("Plain", "h = Relu(a) b = Cos(h)");
  return model;
}

std::vector<std::string> FunctionNames(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto& function : model.functions()) names.push_back(function.name());
  return names;
}

TEST(KeptTest, FunctionsThatNothingTouchedStay) {
  const auto model = Calls();
  const ImportedModel imported = Import(model);
  EXPECT_EQ(Export(imported, imported.graph).DebugString(), model.DebugString());
  // A change of other nodes leaves the calls and what they call.
  const auto tanh = [](const Node& node, const std::vector<Value>& inputs) {
    return node.IsOp("tanh") ? (*ApplyOp("relu", {inputs[0]}, {}))[0] : Value();
  };
  const onnx::ModelProto written = Export(imported, Changed(imported.graph, tanh));
  EXPECT_THAT(Operators(written), ElementsAre("Outer", "Relu", "Outer", "Plain"));
  EXPECT_THAT(FunctionNames(written), ElementsAre("Outer", "Inner", "Plain"));
}

double SlopeOf(const Node& node) {
  for (const auto& [name, value] : node.attrs()) {
    if (name == "alpha") return std::get<double>(value);
  }
  return 0;
}

TEST(KeptTest, OnlyCallsThatAStepChangedAreInlined) {
  const ImportedModel imported = Import(Calls());
  const onnx::ModelProto plain = Export(imported, Changed(imported.graph, ReluToMax));
  EXPECT_THAT(Operators(plain), ElementsAre("Outer", "Tanh", "Outer", "Max", "Cos"));
  EXPECT_THAT(FunctionNames(plain), ElementsAre("Outer", "Inner"));
  // Of two calls of one function, one changes.
  const auto slope = [](const Node& node, const std::vector<Value>& inputs) {
    const bool is_second = node.IsOp("sin") && SlopeOf(inputs[0].node()) == 0.25;
    return is_second ? (*ApplyOp("cos", {inputs[0]}, {}))[0] : Value();
  };
  const onnx::ModelProto one = Export(imported, Changed(imported.graph, slope));
  EXPECT_THAT(Operators(one), ElementsAre("Outer", "Tanh", "Plain", "LeakyRelu", "Cos", "Add"));
  EXPECT_THAT(FunctionNames(one), ElementsAre("Outer", "Inner", "Plain"));
}

TEST(KeptTest, NewNodesAreNamedAfterTheNodeAndTheRule) {
  auto model = OnnxModel(R"(g (float[4] x) => (float[4] y, float[4] z) {
    y = Relu(x)
    z = Relu(y) })");
  model.mutable_graph()->mutable_node(0)->set_name("first");
  ImportedModel imported = Import(model);
  imported.info.change.made_by["y"] = "relu_is_max";
  imported.info.change.metadata["lemma"] = "changed";
  // relu(x) = max(x, -(-x)): one node that a rule made for y, and parts of it.
  const auto change = [](const Node& node, const std::vector<Value>& inputs) {
    if (!node.IsOp("relu") || inputs[0].node().is_op()) return Value();
    const Value twice = (*ApplyOp("neg", {(*ApplyOp("neg", {inputs[0]}, {}))[0]}, {}))[0];
    return (*ApplyOp("max", {inputs[0], twice}, {}))[0];
  };
  const onnx::ModelProto written = Export(imported, Changed(imported.graph, change));
  std::vector<std::string> names;
  for (const auto& node : written.graph().node()) names.push_back(node.name());
  EXPECT_THAT(names, ElementsAre("first/relu_is_max/Neg", "first/relu_is_max/Neg_1",
                                 "first/relu_is_max", ""));
  ASSERT_EQ(written.metadata_props_size(), 1);
  EXPECT_EQ(written.metadata_props(0).value(), "changed");
}

// Before IR version 4, initializers are inputs, in an order of the model's own.
TEST(KeptTest, InitializersThatAreInputsStayInputs) {
  auto model = OnnxModel(R"(g (float[2] x, float[2] w, float[2] u) => (float[2] y) {
    a = Mul(x, w)
    y = Add(a, u) })",
                         7);
  model.set_ir_version(3);
  AddOnes(&model, "w", {2});
  const ImportedModel imported = Import(model);
  const onnx::ModelProto written = Export(imported, imported.graph);
  std::vector<std::string> names;
  for (const auto& input : written.graph().input()) names.push_back(input.name());
  EXPECT_THAT(names, ElementsAre("x", "w", "u"));
  EXPECT_EQ(written.ir_version(), 3);
}

TEST(KeptTest, OpaqueNodesOfLaterSetsStay) {
  auto model = OnnxModel(R"(g (float[2] x) => (float[2] y) {
    a = Novel<k = 3>(x)
    b = Relu(a)
    y = RandomUniformLike(b) })",
                         24);
  for (const char* name : {"a", "b"}) {
    auto* info = model.mutable_graph()->add_value_info();
    *info = model.graph().output(0);
    info->set_name(name);
  }
  model.mutable_graph()->mutable_node(2)->set_doc_string("draws");
  const ImportedModel imported = Import(model);
  const onnx::ModelProto written = Export(imported, Changed(imported.graph, ReluToMax));
  EXPECT_EQ(written.opset_import(0).version(), 24);
  EXPECT_EQ(written.graph().node(0).DebugString(), model.graph().node(0).DebugString());
  EXPECT_EQ(written.graph().node(2).doc_string(), "lemma: draw 0\ndraws");
  // Without the model, the nodes say which set they need.
  EXPECT_EQ(ImportOnnxBytes(*ExportOnnx(imported.graph))->info.opset, 24);
}

onnx::ModelProto RecurrentModel(const char* op, int gates) {
  auto model =
      OnnxModel(std::string("g (float[5,2,3] x) => (float[5,1,2,4] y) { r = Relu(x) y, h = ") + op +
                    "<hidden_size = 4>(r, w, q, b) }",
                14);
  AddOnes(&model, "w", {1, gates * 4, 3});
  AddOnes(&model, "q", {1, gates * 4, 4});
  AddOnes(&model, "b", {1, gates * 8});
  return model;
}

TEST(KeptTest, RecurrentOperatorsStayOneNode) {
  for (const auto& [op, gates] : {std::pair("RNN", 1), {"GRU", 3}, {"LSTM", 4}}) {
    const onnx::ModelProto model = RecurrentModel(op, gates);
    const ImportedModel imported = Import(model);
    EXPECT_GT(imported.graph.num_ops(), 20);
    EXPECT_EQ(LoopBodies(imported.graph, imported.info).size() + 1,
              static_cast<size_t>(imported.graph.num_ops()));
    EXPECT_THAT(Operators(Export(imported, imported.graph)), ElementsAre("Relu", op));
    const Graph changed = Changed(imported.graph, ReluToMax);
    EXPECT_THAT(Operators(Export(imported, changed)), ElementsAre("Max", op));
    EXPECT_EQ(LoopBodies(changed, imported.info).size() + 1,
              static_cast<size_t>(imported.graph.num_ops()));
  }
}

// So do operators that sample.
TEST(KeptTest, SamplersCountAsLoops) {
  const ImportedModel imported =
      Import(OnnxModel("g (float[1,2,4,4] x, float[1,3,3,2] p) => (float[1,2,3,3] y) { r = Relu(x) "
                       "y = GridSample(r, p) }",
                       16));
  EXPECT_GT(imported.graph.num_ops(), 10);
  EXPECT_EQ(LoopBodies(imported.graph, imported.info).size() + 1,
            static_cast<size_t>(imported.graph.num_ops()));
}

// A step that changed something inside.
TEST(KeptTest, ARecurrentOperatorThatChangedIsWrittenUnrolled) {
  const ImportedModel imported = Import(RecurrentModel("LSTM", 4));
  const Graph changed = Changed(imported.graph, [](const Node& node, const std::vector<Value>& in) {
    if (!node.IsOp("tanh")) return Value();
    return (*ApplyOp("relu", {in[0]}, {}))[0];
  });
  const auto operators = Operators(Export(imported, changed));
  EXPECT_THAT(operators, testing::Not(testing::Contains("LSTM")));
  EXPECT_THAT(LoopBodies(changed, imported.info), IsEmpty());
}

TEST(KeptTest, CompositesStayOneNode) {
  for (const char* node : {"HardSwish(r)", "Celu<alpha = 2.0>(r)", "Softsign(r)", "Selu(r)",
                           "MeanVarianceNormalization<axes = [1]>(r)", "Mish(r)", "Shrink(r)",
                           "LpNormalization<axis = 1>(r)", "Einsum<equation = \"ij->ij\">(r)"}) {
    const bool is_new = std::string(node).rfind("Mish", 0) == 0;
    auto model = OnnxModel(
        std::string("g (float[2,3] x) => (float[2,3] y) { r = Relu(x) y = ") + node + " }",
        is_new ? 18 : 14);
    auto imported = ImportOnnxBytes(model.SerializeAsString());
    if (!imported.ok()) continue;  // not known yet
    const onnx::ModelProto written = Export(*imported, Changed(imported->graph, ReluToMax));
    EXPECT_EQ(written.graph().node_size(), 2) << node;
    EXPECT_EQ(written.graph().node(1).DebugString(), model.graph().node(1).DebugString());
  }
}

}  // namespace
}  // namespace lemma
