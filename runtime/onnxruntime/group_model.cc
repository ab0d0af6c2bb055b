#include "runtime/onnxruntime/group_model.h"

#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/builder.h"
#include "graph/onnx/export.h"
#include "runtime/onnxruntime/ort_session.h"

namespace lemma::ort {
namespace {

// Channels of the small convolutions. Four are few enough that their input is read unblocked.
constexpr int64_t kFewChannels = 4, kBlockedChannels = 16;

// Values in [0.25, 1.25): no denormals, and no domain errors of logarithms and roots. Integers are
// 0, so that they are valid indices.
absl::StatusOr<Tensor> MadeUp(const TensorType& type, std::mt19937* random) {
  constexpr size_t kDistinct = 10007;
  auto t = Tensor::Filled(type, 0.75);
  if (!t.ok() || type.dtype != DType::kF32) return t;
  std::uniform_real_distribution<float> uniform(0.25f, 1.25f);
  absl::Span<float> values = t->mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = i < kDistinct ? uniform(*random) : values[i - kDistinct];
  }
  return t;
}

// A file that is removed again.
class TemporaryFile {
 public:
  TemporaryFile() {
    const int file = mkstemp(path_);
    if (file >= 0) close(file);
  }
  ~TemporaryFile() { unlink(path_); }
  TemporaryFile(const TemporaryFile&) = delete;

  const char* path() const { return path_; }
  std::string Contents() const {
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

 private:
  char path_[32] = "/tmp/lemma_group_XXXXXX";
};

// The group as a graph with inputs x0, x1, … and outputs y0, y1, …; weights have values.
absl::StatusOr<Graph> GraphOf(const GroupSpec& group, std::mt19937* random) {
  GraphBuilder builder("group");
  absl::flat_hash_map<Value, Value> now;
  for (const GroupSpec::Operand& operand : group.operands) {
    const std::string number = absl::StrCat(now.size());
    const Node& node = operand.value.node();
    if (node.has_payload() && node.payload().size() <= 1) {
      // A number that decides what the operator computes.
      now[operand.value] = builder.Constant(node.payload());
    } else if (operand.is_static) {
      auto values = MadeUp(operand.value.type(), random);
      if (!values.ok()) return values.status();
      now[operand.value] = builder.Weight(absl::StrCat("w", number), *std::move(values));
    } else {
      now[operand.value] = builder.Input(absl::StrCat("x", number), operand.value.type());
    }
  }
  for (const NodePtr& node : group.nodes) {
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(now.at(v));
    auto outputs = builder.Ops(node->op().name, inputs, node->attrs());
    if (!outputs.ok()) return outputs.status();
    for (int k = 0; k < node->num_outputs(); ++k) now[Value(node, k)] = (*outputs)[k];
  }
  for (int k = 0; k < group.nodes.back()->num_outputs(); ++k) {
    builder.Output(absl::StrCat("y", k), now.at(Value(group.nodes.back(), k)));
  }
  return std::move(builder).Build();
}

// Edits the model of a group.
class Editor {
 public:
  absl::Status Parse(const std::string& bytes) {
    if (model_.ParseFromString(bytes)) return absl::OkStatus();
    return absl::InternalError("the model of a group cannot be read");
  }
  std::string Serialized() const { return model_.SerializeAsString(); }

  // A convolution and its activation before the input, which keep others from being fused with it.
  void StubBefore(const std::string& input, const Shape& shape, std::mt19937* random) {
    Rename(input, Inner(input), /*inputs=*/true, /*outputs=*/false);
    AddConvolution(input, absl::StrCat(input, ".conv"), kFewChannels, shape[1], random);
    onnx::NodeProto* relu = graph().add_node();
    relu->set_op_type("Relu");
    relu->add_input(absl::StrCat(input, ".conv"));
    relu->add_output(Inner(input));
    // Operands come before users.
    for (int i = graph().node_size(); i-- > 2;) graph().mutable_node()->SwapElements(i, i - 2);
    SetChannels(input, kFewChannels, graph().mutable_input());
  }
  // A convolution behind the output.
  void StubBehind(const std::string& output, const Shape& shape, std::mt19937* random) {
    Rename(output, Inner(output), true, true);
    AddConvolution(Inner(output), output, shape[1], kBlockedChannels, random);
    SetChannels(output, kBlockedChannels, graph().mutable_output());
  }

  // The value that the convolution before `input` gives, after optimization.
  std::string AfterStub(const std::string& input) const {
    for (const onnx::NodeProto& node : graph().node()) {
      if (node.input_size() > 0 && node.input(0) == input) return node.output(0);
    }
    return "";
  }
  // The value that the convolution behind `output` reads, before it is converted to blocks, and
  // whether it has blocks itself.
  std::pair<std::string, bool> BeforeStub(const std::string& output) const {
    const onnx::NodeProto* node = Producer(output);
    while (node != nullptr && node->op_type() == "ReorderOutput") node = Producer(node->input(0));
    if (node == nullptr) return {"", false};
    const onnx::NodeProto* before = Producer(node->input(0));
    if (before == nullptr) return {node->input(0), false};
    if (before->op_type() == "ReorderInput") return {before->input(0), false};
    return {node->input(0), before->domain() == "com.microsoft.nchwc" ||
                                (node->domain() == "com.microsoft.nchwc" && IsBlocked(*before))};
  }

  // Leaves the nodes between these values. An input of no shape keeps the declared one.
  void Cut(const std::vector<std::pair<std::string, Shape>>& inputs,
           const std::vector<std::string>& outputs) {
    std::set<std::string> given, needed(outputs.begin(), outputs.end());
    for (const auto& [name, shape] : inputs) given.insert(name);
    std::vector<onnx::NodeProto> kept;
    for (int i = graph().node_size(); i-- > 0;) {
      const onnx::NodeProto& node = graph().node(i);
      const bool is_needed = std::any_of(
          node.output().begin(), node.output().end(),
          [&](const std::string& out) { return needed.count(out) > 0 && given.count(out) == 0; });
      if (!is_needed) continue;
      needed.insert(node.input().begin(), node.input().end());
      kept.push_back(node);
    }
    std::map<std::string, onnx::ValueInfoProto> declared;
    for (const auto* infos : {&graph().input(), &graph().output(), &graph().value_info()}) {
      for (const onnx::ValueInfoProto& info : *infos) declared[info.name()] = info;
    }
    onnx::GraphProto cut = graph();
    cut.clear_node();
    cut.clear_input();
    cut.clear_output();
    cut.clear_value_info();
    cut.clear_initializer();
    for (auto node = kept.rbegin(); node != kept.rend(); ++node) *cut.add_node() = *node;
    for (const auto& [name, shape] : inputs) {
      *cut.add_input() = shape.empty() ? declared[name] : FloatInfo(name, &shape);
    }
    for (const std::string& name : outputs) {
      const bool is_known = declared.count(name) > 0 && declared[name].has_type();
      *cut.add_output() = is_known ? declared[name] : FloatInfo(name, nullptr);
    }
    for (const onnx::TensorProto& weight : graph().initializer()) {
      if (needed.count(weight.name()) > 0) *cut.add_initializer() = weight;
    }
    *model_.mutable_graph() = std::move(cut);
  }

  int num_nodes() const { return graph().node_size(); }

 private:
  const onnx::GraphProto& graph() const { return model_.graph(); }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }
  static std::string Inner(const std::string& name) { return absl::StrCat(name, ".inner"); }

  const onnx::NodeProto* Producer(const std::string& value) const {
    for (const onnx::NodeProto& node : graph().node()) {
      if (std::find(node.output().begin(), node.output().end(), value) != node.output().end()) {
        return &node;
      }
    }
    return nullptr;
  }

  // Whether an operator that has one kernel for both layouts works on blocks.
  bool IsBlocked(const onnx::NodeProto& node) const {
    return std::any_of(node.input().begin(), node.input().end(), [&](const std::string& input) {
      const onnx::NodeProto* before = Producer(input);
      if (before == nullptr) return false;
      if (before->domain() == "com.microsoft.nchwc") return before->op_type() != "ReorderOutput";
      return IsBlocked(*before);
    });
  }

  void Rename(const std::string& from, const std::string& to, bool inputs, bool outputs) {
    for (onnx::NodeProto& node : *graph().mutable_node()) {
      for (std::string& name : *node.mutable_input()) {
        if (inputs && name == from) name = to;
      }
      for (std::string& name : *node.mutable_output()) {
        if (outputs && name == from) name = to;
      }
    }
  }

  void AddConvolution(const std::string& from, const std::string& to, int64_t in, int64_t out,
                      std::mt19937* random) {
    onnx::TensorProto* weight = graph().add_initializer();
    weight->set_name(absl::StrCat(to, ".stub_weight"));
    weight->set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t size : {out, in, int64_t{1}, int64_t{1}}) weight->add_dims(size);
    std::uniform_real_distribution<float> uniform(0.01f, 0.1f);
    for (int64_t i = 0; i < in * out; ++i) weight->add_float_data(uniform(*random));
    onnx::NodeProto* node = graph().add_node();
    node->set_op_type("Conv");
    node->add_input(from);
    node->add_input(weight->name());
    node->add_output(to);
  }

  static void SetChannels(const std::string& name, int64_t channels,
                          google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>* infos) {
    for (onnx::ValueInfoProto& info : *infos) {
      if (info.name() != name) continue;
      info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_dim_value(
          channels);
    }
  }

  static onnx::ValueInfoProto FloatInfo(const std::string& name, const Shape* shape) {
    onnx::ValueInfoProto info;
    info.set_name(name);
    auto* type = info.mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (size_t i = 0; shape != nullptr && i < shape->size(); ++i) {
      type->mutable_shape()->add_dim()->set_dim_value((*shape)[i]);
    }
    return info;
  }

  onnx::ModelProto model_;
};

// ONNX Runtime's refusal of a group means that the graph cannot run there.
absl::Status CannotRun(const absl::Status& status) {
  return absl::UnimplementedError(status.message());
}

// The values of `outputs`, computed by the model on random inputs of these shapes.
absl::StatusOr<std::vector<Tensor>> Feed(const Library* library, const Editor& whole,
                                         const std::vector<std::pair<std::string, Shape>>& inputs,
                                         const std::vector<std::string>& outputs,
                                         std::mt19937* random) {
  Editor feeder = whole;
  std::vector<std::pair<std::string, Shape>> kept_inputs;
  std::vector<std::string> names;
  std::vector<Tensor> values;
  for (const auto& [name, shape] : inputs) {
    kept_inputs.emplace_back(name, shape);
    names.push_back(name);
    auto value = MadeUp({DType::kF32, shape}, random);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  feeder.Cut(kept_inputs, outputs);
  LoadSettings settings;
  settings.level = OrtLevel::kDisabled;
  auto loaded = LoadedModel::Create(library, feeder.Serialized(), names, outputs, settings);
  if (!loaded.ok()) return loaded.status();
  return (*loaded)->Run(values);
}

}  // namespace

bool MayBeBlocked(const TensorType& type) {
  return type.dtype == DType::kF32 && type.rank() == 4 && type.num_elements() > 0;
}

std::string GroupSpec::Signature() const {
  absl::flat_hash_map<Value, std::string> names;
  std::vector<std::string> types, operators;
  for (const Operand& operand : operands) {
    names[operand.value] = absl::StrCat("x", names.size());
    types.push_back(absl::StrCat(operand.value.type().ToString(),
                                 operand.is_static ? " static" : "",
                                 operand.is_blocked ? " blocked" : ""));
    const Node& node = operand.value.node();
    if (node.has_payload() && node.payload().size() == 1) {
      absl::StrAppend(&types.back(), " = ", node.payload().AtDouble(0));
    }
  }
  for (size_t n = 0; n < nodes.size(); ++n) {
    std::vector<std::string> inputs, attrs;
    for (const Value& v : nodes[n]->inputs()) inputs.push_back(names.at(v));
    for (const auto& [name, value] : nodes[n]->attrs()) {
      attrs.push_back(absl::StrCat(name, "=", ToString(value)));
    }
    for (int k = 0; k < nodes[n]->num_outputs(); ++k) {
      names[Value(nodes[n], k)] = absl::StrCat("v", n, k == 0 ? "" : absl::StrCat(".", k));
    }
    operators.push_back(absl::StrCat(nodes[n]->op().key(), " ", absl::StrJoin(inputs, " "),
                                     attrs.empty() ? "" : " {", absl::StrJoin(attrs, ", "),
                                     attrs.empty() ? "" : "}"));
  }
  const std::string kind = absl::StrJoin(nodes, "+", [](std::string* text, const NodePtr& node) {
    absl::StrAppend(text, node->op().name);
  });
  return absl::StrCat(kind, "(", absl::StrJoin(types, ", "), ") ", absl::StrJoin(operators, "; "));
}

absl::StatusOr<GroupModel> MakeGroupModel(const Library* library, const GroupSpec& group,
                                          int threads) {
  std::mt19937 random(1);
  auto graph = GraphOf(group, &random);
  if (!graph.ok()) return graph.status();
  auto exported = ExportOnnx(*graph);
  if (!exported.ok()) return CannotRun(exported.status());
  GroupModel result;
  std::vector<const GroupSpec::Operand*> dynamic;  // by input of the graph
  for (const GroupSpec::Operand& operand : group.operands) {
    if (!operand.is_static) dynamic.push_back(&operand);
  }
  if (dynamic.size() != graph->inputs().size()) {
    return absl::InternalError("a group's inputs are not its operands");
  }
  const bool has_blocked = std::any_of(dynamic.begin(), dynamic.end(),
                                       [](const auto* operand) { return operand->is_blocked; });
  const TensorType& type = group.nodes.back()->type(0);
  const bool stubs = MayBeBlocked(type) || has_blocked;
  if (!stubs) {
    result = {*std::move(exported), graph->input_names(), graph->output_names(), {}, false, false};
    for (const Value& input : graph->inputs()) {
      auto value = MadeUp(input.type(), &random);
      if (!value.ok()) return value.status();
      result.values.push_back(*std::move(value));
    }
    return result;
  }
  Editor editor;
  if (absl::Status s = editor.Parse(*exported); !s.ok()) return s;
  std::vector<std::pair<std::string, Shape>> stubbed;  // inputs with a convolution before them
  for (size_t i = 0; i < dynamic.size(); ++i) {
    if (!dynamic[i]->is_blocked) continue;
    Shape shape = dynamic[i]->value.shape();
    editor.StubBefore(graph->input_names()[i], shape, &random);
    shape[1] = kFewChannels;
    stubbed.emplace_back(graph->input_names()[i], shape);
  }
  if (MayBeBlocked(type)) editor.StubBehind("y0", type.shape, &random);
  const TemporaryFile optimized;
  LoadSettings settings;
  settings.threads = threads;
  settings.optimized_model = optimized.path();
  auto loaded = LoadedModel::Create(library, editor.Serialized(), graph->input_names(),
                                    graph->output_names(), settings);
  if (!loaded.ok()) return CannotRun(loaded.status());
  loaded->reset();
  if (absl::Status s = editor.Parse(optimized.Contents()); !s.ok()) return s;

  std::vector<std::string> tokens;
  for (const auto& [name, shape] : stubbed) tokens.push_back(editor.AfterStub(name));
  std::vector<Tensor> fed;
  if (!stubbed.empty()) {
    auto values = Feed(library, editor, stubbed, tokens, &random);
    if (!values.ok()) return CannotRun(values.status());
    fed = *std::move(values);
  }
  std::vector<std::pair<std::string, Shape>> inputs;
  size_t next = 0;
  for (size_t i = 0; i < dynamic.size(); ++i) {
    if (dynamic[i]->is_blocked) {
      inputs.emplace_back(tokens[next], fed[next].shape());
      result.values.push_back(fed[next++]);
    } else {
      inputs.emplace_back(graph->input_names()[i], Shape());
      auto value = MadeUp(dynamic[i]->value.type(), &random);
      if (!value.ok()) return value.status();
      result.values.push_back(*std::move(value));
    }
    result.inputs.push_back(inputs.back().first);
  }
  std::vector<std::string> outputs = graph->output_names();
  if (MayBeBlocked(type)) {
    std::tie(outputs[0], result.is_blocked) = editor.BeforeStub("y0");
  }
  for (const std::string& output : outputs) {
    // A result that is an operand costs nothing.
    const auto is_it = [&](const auto& input) { return input.first == output; };
    if (!output.empty() && std::none_of(inputs.begin(), inputs.end(), is_it)) {
      result.outputs.push_back(output);
    }
  }
  editor.Cut(inputs, result.outputs);
  if (editor.num_nodes() == 0) result.outputs.clear();
  result.model = editor.Serialized();
  result.is_optimized = true;
  return result;
}

}  // namespace lemma::ort
