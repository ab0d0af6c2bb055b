#include "rewrite/matching/apply.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/builder.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/held_numbers.h"

namespace lemma {

absl::StatusOr<std::vector<Value>> BuildTarget(const Substitution& rule, const Match& match) {
  std::vector<NodePtr> nodes;
  auto values = BuildPattern(rule, rule.target, match.vars, match.symbols, match.dtype, &nodes);
  absl::Status status = values.status();
  if (status.ok()) status = CheckNumbers(rule.target, nodes, match.symbols);
  if (status.ok()) return values;
  return absl::FailedPreconditionError(absl::StrCat("rule ", rule.name, ": ", status.message()));
}

absl::StatusOr<Graph> Apply(const Substitution& rule, const Match& match, const MatchIndex& index) {
  for (const Value& v : match.vars) {
    // Proofs cover positive sizes only (docs/proofs.md).
    if (MayBeEmpty(v.type().shape)) {
      return absl::FailedPreconditionError(
          absl::StrCat("rule ", rule.name, ": not proved for an empty operand"));
    }
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> targets, BuildTarget(rule, match));
  std::vector<std::pair<Value, Value>> replacements;
  for (size_t i = 0; i < targets.size(); ++i) {
    const PatternValue& output = rule.source.outputs[i];
    replacements.emplace_back(Value(match.nodes[output.node], output.index), targets[i]);
  }
  auto graph = Replace(index, replacements);
  if (graph.ok()) return graph;
  return absl::FailedPreconditionError(
      absl::StrCat("rule ", rule.name, ": ", graph.status().message()));
}

absl::StatusOr<Graph> Replace(const MatchIndex& index,
                              const std::vector<std::pair<Value, Value>>& replacements) {
  const Graph& graph = index.graph();
  int first = index.num_nodes();
  for (const auto& [from, to] : replacements) {
    if (from.type() != to.type()) {
      return absl::FailedPreconditionError(absl::StrCat("a value of type ", from.type().ToString(),
                                                        " would become ", to.type().ToString()));
    }
    first = std::min(first, index.PositionOf(from.node()));
  }
  // By position: the node's replacement; nullptr: itself.
  std::vector<NodePtr> renewed(index.num_nodes());
  auto successor = [&](const Value& value) -> Value {
    for (const auto& [from, to] : replacements) {
      if (from == value) return to;
    }
    int position = index.PositionOf(value.node());
    return renewed[position] == nullptr ? value : Value(renewed[position], value.output());
  };
  for (int i = first; i < index.num_nodes(); ++i) {
    const NodePtr& node = index.node(i);
    if (!node->is_op()) continue;
    std::vector<Value> inputs;
    bool changed = false;
    inputs.reserve(node->inputs().size());
    for (const Value& input : node->inputs()) {
      inputs.push_back(successor(input));
      changed = changed || inputs.back() != input;
    }
    if (!changed) continue;
    renewed[i] = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
  }
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (int i = 0; i < index.num_nodes(); ++i) {
    const NodePtr& node = index.node(i);
    for (int output = 0; output < node->num_outputs(); ++output) {
      Value value(node, output);
      absl::string_view label = graph.LabelOf(value);
      if (!label.empty()) builder.Label(successor(value), std::string(label));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], successor(graph.outputs()[i]));
  }
  return std::move(builder).Build();
}

}  // namespace lemma
