#include "verifier/referee/evidence/rewire.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/builder.h"

namespace lemma::referee {

NodePtr WithOperands(const NodePtr& node, const ValueMap& moved) {
  if (!node->is_op()) return node;
  std::vector<Value> operands;
  for (const Value& operand : node->inputs()) operands.push_back(moved.at(operand));
  return Node::Apply(&node->op(), std::move(operands), node->attrs(), node->types());
}

ValueMap AfterReplacing(const Graph& graph, const ValueMap& replaced) {
  ValueMap moved;
  for (const NodePtr& node : graph.nodes()) {
    const NodePtr now = WithOperands(node, moved);
    for (int o = 0; o < node->num_outputs(); ++o) {
      const Value value(node, o);
      auto it = replaced.find(value);
      moved[value] = it != replaced.end() ? it->second : Value(now, o);
    }
  }
  return moved;
}

Graph WithValues(const Graph& graph, const std::vector<Value>& values) {
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (size_t o = 0; o < values.size(); ++o) builder.Output(absl::StrCat("value ", o), values[o]);
  return *std::move(builder).Build();
}

}  // namespace lemma::referee
