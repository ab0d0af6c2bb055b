#include "graph/rebuild.h"

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
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

void CheckType(const Value& output, const Value& before) {
  if (output.type() == before.type()) return;
  std::fprintf(stderr, "lemma: broken invariant: a replacement changes an output's type\n");
  std::abort();
}

// The nodes that the outputs depend on if replacements are read in place of keys, operands first;
// nullopt if a node would depend on itself.
std::optional<std::vector<NodePtr>> OrderAfter(const Graph& graph, const ValueMap& replacements) {
  std::vector<NodePtr> order;
  absl::flat_hash_map<const Node*, bool> done;  // false: its operands are being visited
  std::vector<std::pair<NodePtr, size_t>> stack;
  auto open = [&](const Value& v) {
    const NodePtr& node = Mapped(replacements, v).node_ptr();
    const auto [entry, fresh] = done.try_emplace(node.get(), false);
    if (fresh) stack.emplace_back(node, 0);
    return fresh || entry->second;
  };
  for (const Value& output : graph.outputs()) {
    open(output);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < node->inputs().size()) {
        const Value v = node->inputs()[next++];
        if (!open(v)) return std::nullopt;
        continue;
      }
      done[node.get()] = true;
      order.push_back(std::move(node));
      stack.pop_back();
    }
  }
  return order;
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
    CheckType(output, graph.outputs()[i]);
    builder.Output(graph.output_names()[i], output);
  }
  if (changed != nullptr) *changed = std::move(map);
  return *std::move(builder).Build();
}

std::optional<Graph> ReplaceValuesEverywhere(const Graph& graph, const ValueMap& replacements,
                                             ValueMap* changed) {
  const std::optional<std::vector<NodePtr>> order = OrderAfter(graph, replacements);
  if (!order) return std::nullopt;
  ValueMap map;  // from values to new values; a key is mapped once its replacement is
  absl::flat_hash_map<Value, std::vector<Value>> keys;  // by replacement
  for (const auto& [key, replacement] : replacements) keys[replacement].push_back(key);
  for (const NodePtr& node : *order) {
    const NodePtr now = node->is_op() ? Reapply(node, map) : node;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value before(node, i), after(now, i);
      // Another output of a node with a key may still be read.
      if (now != node && !replacements.contains(before)) map.insert_or_assign(before, after);
      if (auto its = keys.find(before); its != keys.end()) {
        for (const Value& key : its->second) map.insert_or_assign(key, after);
      }
    }
  }
  GraphBuilder builder(graph.name());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (const NodePtr& node : graph.nodes()) {
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Value before(node, i);
      const absl::string_view label = graph.LabelOf(before);
      if (!label.empty()) builder.Label(Mapped(map, before), std::string(label));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const Value& output = Mapped(map, graph.outputs()[i]);
    CheckType(output, graph.outputs()[i]);
    builder.Output(graph.output_names()[i], output);
  }
  if (changed != nullptr) *changed = std::move(map);
  return *std::move(builder).Build();
}

}  // namespace lemma
