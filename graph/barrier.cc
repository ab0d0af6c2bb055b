#include "graph/barrier.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/builder.h"
#include "graph/op_table.h"

namespace lemma {

namespace {

const OpDef* BarrierOp() {
  static const OpDef* const op = FindOp("barrier");
  return op;
}

const OpDef* OffloadOp() {
  static const OpDef* const op = FindOp("offload");
  return op;
}

}  // namespace

Value Barrier(const Value& x, const Value& after) {
  return Value(Node::Apply(BarrierOp(), {x, after}, {}, {x.type()}), 0);
}

Value Offload(const Value& x) { return Value(Node::Apply(OffloadOp(), {x}, {}, {x.type()}), 0); }

bool IsBarrier(const Node& node) { return node.is_op() && &node.op() == BarrierOp(); }
bool IsOffload(const Node& node) { return node.is_op() && &node.op() == OffloadOp(); }

Graph WithoutBarriers(const Graph& graph) {
  GraphBuilder builder(graph.name());
  absl::flat_hash_map<Value, Value> now;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    builder.Input(graph.input_names()[i], graph.inputs()[i].type());
  }
  for (const NodePtr& node : graph.nodes()) {
    std::vector<Value> inputs;
    for (const Value& v : node->inputs()) inputs.push_back(now.at(v));
    if (IsBarrier(*node) || IsOffload(*node)) {
      now[Value(node, 0)] = inputs[0];
      continue;
    }
    NodePtr made = node;
    if (node->is_op()) {
      made = Node::Apply(&node->op(), std::move(inputs), node->attrs(), node->types());
    }
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Value value(made, k);
      now[Value(node, k)] = value;
      const absl::string_view label = graph.LabelOf(Value(node, k));
      if (!label.empty()) builder.Label(value, std::string(label));
    }
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    builder.Output(graph.output_names()[i], now.at(graph.outputs()[i]));
  }
  return *std::move(builder).Build();  // the names are the graph's, and unique
}

}  // namespace lemma
