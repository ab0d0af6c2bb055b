#include "graph/sizes/specialize.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/op_table.h"

namespace lemma {
namespace {

void CollectDims(const Node& node, std::map<std::string, SizeRange>* dims) {
  for (const TensorType& type : node.types()) {
    for (int64_t size : type.shape) CollectDims(size, dims);
  }
  for (const auto& [name, value] : node.attrs()) {
    if (auto* size = std::get_if<int64_t>(&value)) CollectDims(*size, dims);
    if (auto* sizes = std::get_if<std::vector<int64_t>>(&value)) {
      for (int64_t size : *sizes) CollectDims(size, dims);
    }
  }
}

}  // namespace

bool IsSymbolic(const Node& node) {
  for (const TensorType& type : node.types()) {
    if (IsSymbolic(type.shape)) return true;
  }
  for (const auto& [name, value] : node.attrs()) {
    if (auto* size = std::get_if<int64_t>(&value); size != nullptr && IsSymbolic(*size)) {
      return true;
    }
    if (auto* sizes = std::get_if<std::vector<int64_t>>(&value);
        sizes != nullptr && IsSymbolic(*sizes)) {
      return true;
    }
  }
  return false;
}

bool IsSymbolic(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const NodePtr& node) { return IsSymbolic(*node); });
}

std::map<std::string, SizeRange> DimsOf(const Graph& graph) {
  std::map<std::string, SizeRange> dims;
  for (const NodePtr& node : graph.nodes()) CollectDims(*node, &dims);
  return dims;
}

std::map<std::string, SizeRange> InputDimsOf(const Graph& graph) {
  std::map<std::string, SizeRange> dims = DimsOf(graph);
  for (auto it = dims.begin(); it != dims.end();) {
    it = IsResultSize(it->second) ? dims.erase(it) : std::next(it);
  }
  return dims;
}

DimValues InputSizes(const Graph& graph, const DimValues& sizes) {
  DimValues result;
  for (const auto& [name, range] : InputDimsOf(graph)) {
    auto size = sizes.find(name);
    if (size != sizes.end()) result.insert(*size);
  }
  return result;
}

absl::StatusOr<Graph> Specialize(const Graph& graph, const DimValues& values) {
  return Specializer(values).Of(graph);
}

absl::StatusOr<DimValues> BindDims(const Graph& graph, absl::Span<const TensorType> types) {
  DimValues values;
  if (types.size() != graph.inputs().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(types.size(), " inputs are given, the graph has ", graph.inputs().size()));
  }
  auto misfit = [&](size_t i, absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("input '", graph.input_names()[i], "' is ",
                                                   graph.inputs()[i].type().ToString(), ", ",
                                                   types[i].ToString(), " is given", why));
  };
  // Plain dimensions first: they give the values of compound ones.
  for (const bool plain : {true, false}) {
    for (size_t i = 0; i < types.size(); ++i) {
      const TensorType& type = graph.inputs()[i].type();
      if (type.dtype != types[i].dtype || type.rank() != types[i].rank()) return misfit(i, "");
      for (int axis = 0; axis < type.rank(); ++axis) {
        const int64_t size = type.shape[axis], given = types[i].shape[axis];
        std::map<std::string, SizeRange> dims;
        CollectDims(size, &dims);
        if (plain && dims.size() == 1 && SizeName(size) == dims.begin()->first) {
          values.emplace(dims.begin()->first, given);
        }
        if (plain) continue;
        auto value = Evaluate(size, values);
        if (!value.ok()) return misfit(i, absl::StrCat(": ", value.status().message()));
        if (*value != given) return misfit(i, "");
      }
    }
  }
  return values;
}

absl::StatusOr<TensorType> Specializer::Of(const TensorType& type) const {
  TensorType result = type;
  for (int64_t& size : result.shape) {
    const int64_t symbolic = size;
    LEMMA_ASSIGN_OR_RETURN(size, Evaluate(symbolic, values_));
    if (size >= 0) continue;
    std::map<std::string, SizeRange> dims;
    CollectDims(symbolic, &dims);
    std::vector<std::string> at;
    for (const auto& [name, range] : dims) {
      auto value = values_.find(name);
      if (value != values_.end()) at.push_back(absl::StrCat(name, " = ", value->second));
    }
    return absl::InvalidArgumentError(absl::StrCat("the size ", SizeName(symbolic), " is ", size,
                                                   " where ", absl::StrJoin(at, ", ")));
  }
  return result;
}

absl::StatusOr<NodePtr> Specializer::Of(const NodePtr& node) {
  // Explicit stack: graphs may be deeper than the call stack allows.
  std::vector<const NodePtr*> pending = {&node};
  while (!pending.empty()) {
    const NodePtr& next = *pending.back();
    const size_t before = pending.size();
    if (!known_.contains(next)) {
      for (const Value& input : next->inputs()) {
        if (!known_.contains(input.node_ptr())) pending.push_back(&input.node_ptr());
      }
      if (pending.size() > before) continue;
      LEMMA_ASSIGN_OR_RETURN(NodePtr made, Make(*next));
      known_.emplace(next, made == nullptr ? next : made);
    }
    pending.pop_back();
  }
  return known_.at(node);
}

// The operands are known. nullptr: the node itself.
absl::StatusOr<NodePtr> Specializer::Make(const Node& node) {
  if (!node.is_op()) {
    if (!IsSymbolic(node)) return NodePtr();
    if (node.kind() != Node::Kind::kInput) {
      return absl::InternalError("a weight's size is symbolic");
    }
    LEMMA_ASSIGN_OR_RETURN(TensorType type, Of(node.type(0)));
    return Node::Input(node.input_index(), std::move(type));
  }
  std::vector<Value> inputs;
  bool changed = IsSymbolic(node);
  for (const Value& input : node.inputs()) {
    const NodePtr& made = known_.at(input.node_ptr());
    changed = changed || made != input.node_ptr();
    inputs.emplace_back(made, input.output());
  }
  if (!changed) return NodePtr();
  return Apply(node, std::move(inputs));
}

absl::StatusOr<NodePtr> Specializer::Alone(const Node& node) {
  std::vector<Value> inputs;
  for (const Value& input : node.inputs()) {
    LEMMA_ASSIGN_OR_RETURN(TensorType type, Of(input.type()));
    inputs.emplace_back(Node::Input(static_cast<int>(inputs.size()), std::move(type)), 0);
  }
  return Apply(node, std::move(inputs));
}

absl::StatusOr<NodePtr> Specializer::Apply(const Node& node, std::vector<Value> inputs) {
  Attrs attrs = node.attrs();
  for (auto& [name, value] : attrs) {
    if (auto* size = std::get_if<int64_t>(&value)) {
      LEMMA_ASSIGN_OR_RETURN(*size, Evaluate(*size, values_));
    }
    if (auto* sizes = std::get_if<std::vector<int64_t>>(&value)) {
      for (int64_t& size : *sizes) {
        LEMMA_ASSIGN_OR_RETURN(size, Evaluate(size, values_));
      }
    }
  }
  std::vector<TensorType> types;
  for (const TensorType& type : node.types()) {
    LEMMA_ASSIGN_OR_RETURN(TensorType concrete, Of(type));
    types.push_back(std::move(concrete));
  }
  if (&node.op() == FindOp("opaque")) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Value> values,
                           ApplyOpaque(std::move(inputs), std::move(attrs), std::move(types)));
    return values[0].node_ptr();
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> values,
                         ApplyOp(node.op().name, std::move(inputs), std::move(attrs)));
  if (values[0].node().types() != types) {
    return absl::InvalidArgumentError(absl::StrCat(node.op().name, " of ", node.type(0).ToString(),
                                                   " is ", values[0].type().ToString(),
                                                   " for these sizes"));
  }
  return values[0].node_ptr();
}

absl::StatusOr<Graph> Specializer::Of(const Graph& graph) {
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(TensorType type, Of(graph.inputs()[i].type()));
    builder.Input(graph.input_names()[i], std::move(type));
  }
  for (const NodePtr& node : graph.nodes()) {
    LEMMA_ASSIGN_OR_RETURN(NodePtr made, Of(node));
    for (int i = 0; i < node->num_outputs(); ++i) {
      const absl::string_view label = graph.LabelOf(Value(node, i));
      if (!label.empty()) builder.Label(Value(made, i), std::string(label));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& output = graph.outputs()[i];
    builder.Output(graph.output_names()[i], Value(known_.at(output.node_ptr()), output.output()));
  }
  return std::move(builder).Build();
}

}  // namespace lemma
