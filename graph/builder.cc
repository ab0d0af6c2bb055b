#include "graph/builder.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "graph/op_table.h"

namespace lemma {

absl::StatusOr<std::vector<Value>> ApplyOp(absl::string_view op, std::vector<Value> inputs,
                                           Attrs attrs) {
  const OpDef* def = FindOp(op);
  if (def == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("there is no operator ", op));
  }
  auto complete = CompleteAttrs(*def, std::move(attrs));
  if (!complete.ok()) return complete.status();
  std::vector<TensorType> input_types;
  for (const Value& v : inputs) input_types.push_back(v.type());
  auto types = InferTypes(*def, input_types, *complete);
  if (!types.ok()) return types.status();
  NodePtr node = Node::Apply(def, std::move(inputs), *std::move(complete), *std::move(types));
  std::vector<Value> outputs;
  for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(node, i);
  return outputs;
}

absl::StatusOr<Value> Apply1(absl::string_view op, std::vector<Value> inputs, Attrs attrs) {
  auto outputs = ApplyOp(op, std::move(inputs), std::move(attrs));
  if (!outputs.ok()) return outputs.status();
  if (outputs->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(op, " has ", outputs->size(), " outputs where one is expected"));
  }
  return (*outputs)[0];
}

absl::StatusOr<std::vector<Value>> ApplyOpaque(std::vector<Value> inputs, Attrs attrs,
                                               std::vector<TensorType> output_types) {
  const OpDef* def = FindOp("opaque");
  auto complete = CompleteAttrs(*def, std::move(attrs));
  if (!complete.ok()) return complete.status();
  NodePtr node = Node::Apply(def, std::move(inputs), *std::move(complete), std::move(output_types));
  std::vector<Value> outputs;
  for (int i = 0; i < node->num_outputs(); ++i) outputs.emplace_back(node, i);
  return outputs;
}

Value GraphBuilder::Input(std::string name, TensorType type) {
  Value value(Node::Input(static_cast<int>(graph_.inputs_.size()), std::move(type)), 0);
  graph_.inputs_.push_back(value);
  Label(value, name);
  graph_.input_names_.push_back(std::move(name));
  return value;
}

Value GraphBuilder::Weight(std::string name, TensorType type) {
  Value value(Node::Weight(name, std::move(type), Tensor()), 0);
  Label(value, std::move(name));
  return value;
}

Value GraphBuilder::Weight(std::string name, Tensor payload) {
  TensorType type = payload.type();
  Value value(Node::Weight(name, std::move(type), std::move(payload)), 0);
  Label(value, std::move(name));
  return value;
}

Value GraphBuilder::Constant(Tensor payload) {
  return Value(Node::Constant(std::move(payload)), 0);
}

absl::StatusOr<Value> GraphBuilder::Op(absl::string_view op, std::vector<Value> inputs,
                                       Attrs attrs) {
  return Apply1(op, std::move(inputs), std::move(attrs));
}

absl::StatusOr<std::vector<Value>> GraphBuilder::Ops(absl::string_view op,
                                                     std::vector<Value> inputs, Attrs attrs) {
  return ApplyOp(op, std::move(inputs), std::move(attrs));
}

void GraphBuilder::Label(const Value& value, std::string label) {
  graph_.labels_.emplace(std::make_pair(value.node().hash(), value.output()), std::move(label));
}

void GraphBuilder::Output(std::string name, Value value) {
  Label(value, name);
  graph_.outputs_.push_back(std::move(value));
  graph_.output_names_.push_back(std::move(name));
}

absl::StatusOr<Graph> GraphBuilder::Build() && {
  if (graph_.outputs_.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("graph ", graph_.name_, " has no outputs"));
  }
  for (const auto* names : {&graph_.input_names_, &graph_.output_names_}) {
    std::set<std::string> seen;
    for (const std::string& name : *names) {
      if (!seen.insert(name).second) {
        return absl::InvalidArgumentError(
            absl::StrCat("graph ", graph_.name_, " has two ",
                         names == &graph_.input_names_ ? "inputs" : "outputs", " named ", name));
      }
    }
  }
  graph_.Index();
  return std::move(graph_);
}

}  // namespace lemma
