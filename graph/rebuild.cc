#include "graph/rebuild.h"

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "graph/builder.h"

namespace lemma {
namespace {

// The value in the new graph.
const Value& Mapped(const ValueMap& map, const Value& value) {
  auto it = map.find(value);
  return it == map.end() ? value : it->second;
}

// Applies the node's operator to the new operands; returns the node itself if they are unchanged.
NodePtr Reapply(const NodePtr& node, const ValueMap& map) {
  std::vector<Value> inputs;
  bool changed = false;
  for (const Value& v : node->inputs()) {
    inputs.push_back(Mapped(map, v));
    changed |= inputs.back() != v;
  }
  if (!changed) return node;
  return Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
}

}  // namespace

Graph ReplaceValues(const Graph& graph, const ValueMap& replacements, ValueMap* changed) {
  ValueMap map = replacements;
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (const NodePtr& node : graph.nodes()) {
    NodePtr now = node->is_op() ? Reapply(node, map) : node;
    for (int i = 0; i < node->num_outputs(); ++i) {
      Value old(node, i);
      // The label of a replaced value goes to its replacement.
      const Value& target = replacements.contains(old) ? Mapped(map, old) : Value(now, i);
      absl::string_view label = graph.LabelOf(old);
      if (!label.empty()) builder.Label(target, std::string(label));
      if (now != node) map.try_emplace(old, Value(now, i));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& output = Mapped(map, graph.outputs()[i]);
    if (output.type() != graph.outputs()[i].type()) {
      std::fprintf(stderr, "lemma: broken invariant: a replacement changes an output's type\n");
      std::abort();
    }
    builder.Output(graph.output_names()[i], output);
  }
  if (changed != nullptr) *changed = std::move(map);
  return *std::move(builder).Build();
}

}  // namespace lemma
