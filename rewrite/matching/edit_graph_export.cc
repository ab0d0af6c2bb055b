// Converts an edited graph back to an immutable one.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "graph/builder.h"
#include "rewrite/matching/edit_graph.h"

namespace lemma {

std::vector<int> EditGraph::LiveNodes() const {
  std::vector<int> order;
  for (int n = 0; n < num_nodes(); ++n) {
    if (slots_[n].live) order.push_back(n);
  }
  return Sorted(std::move(order));
}

std::vector<int> EditGraph::Sorted(std::vector<int> nodes) const {
  std::sort(nodes.begin(), nodes.end(), [&](int a, int b) {
    return slots_[a].rank != slots_[b].rank ? slots_[a].rank < slots_[b].rank : a < b;
  });
  return nodes;
}

// By number. Inputs are never removed.
std::vector<int> EditGraph::Inputs() const {
  std::vector<int> inputs;
  for (int n = 0; n < num_nodes(); ++n) {
    if (Head(n).kind() == Node::Kind::kInput) inputs.push_back(n);
  }
  std::sort(inputs.begin(), inputs.end(),
            [&](int a, int b) { return Head(a).input_index() < Head(b).input_index(); });
  return inputs;
}

std::vector<int> EditGraph::GraphOrder() const {
  std::vector<int> order;
  std::vector<bool> seen(slots_.size());
  std::vector<std::pair<int, size_t>> stack;
  auto visit = [&](int root) {
    if (seen[root]) return;
    seen[root] = true;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [node, next] = stack.back();
      if (next < slots_[node].operands.size()) {
        const int operand = slots_[node].operands[next++].node;
        if (!seen[operand]) stack.emplace_back(operand, 0);
        seen[operand] = true;
        continue;
      }
      order.push_back(node);
      stack.pop_back();
    }
  };
  for (int input : Inputs()) visit(input);
  for (const ValueRef& v : outputs_) visit(v.node);
  return order;
}

// The same hash as Graph::StructuralHash.
uint64_t EditGraph::StructuralHash(absl::Span<const int> graph_order) const {
  std::vector<uint64_t> hashes(slots_.size());
  uint64_t weights = 0;
  auto value_hash = [&](ValueRef v) {
    return HashCombine(hashes[v.node], static_cast<uint64_t>(v.output));
  };
  for (int n : graph_order) {
    const Node& head = Head(n);
    uint64_t h = head.hash();
    if (head.kind() == Node::Kind::kWeight) {
      h = head.has_payload() ? HashCombine(78, head.payload().ContentHash())
                             : HashCombine(HashCombine(Mix64(++weights), 77), head.type(0).Hash());
    } else if (head.is_op()) {
      h = head.operator_hash();
      for (const ValueRef& v : slots_[n].operands) h = HashCombine(h, value_hash(v));
      for (const TensorType& type : head.types()) h = HashCombine(h, type.Hash());
    }
    hashes[n] = h;
  }
  const std::vector<int> inputs = Inputs();
  uint64_t result = Mix64(inputs.size());
  for (int input : inputs) result = HashCombine(result, Head(input).type(0).Hash());
  for (const ValueRef& v : outputs_) result = HashCombine(result, value_hash(v));
  return result;
}

absl::string_view EditGraph::LabelOf(ValueRef value) const {
  const std::string* label = value_(value).label;
  return label == nullptr ? absl::string_view() : absl::string_view(*label);
}

Graph EditGraph::ToGraph(std::vector<NodePtr>* nodes) const {
  const std::vector<int> order = LiveNodes();
  std::vector<NodePtr> now(slots_.size());
  for (int n : order) {
    const NodePtr& head = slots_[n].head;
    std::vector<Value> operands;
    for (const ValueRef& v : slots_[n].operands) operands.emplace_back(now[v.node], v.output);
    const bool same = !head->is_op() || operands == head->inputs();
    now[n] =
        same ? head : Node::Apply(&head->op(), std::move(operands), head->attrs(), head->types());
  }
  GraphBuilder builder(origin_.name());
  const bool named = !origin_.outputs().empty();
  for (int input : Inputs()) {
    const int index = Head(input).input_index();
    builder.Input(named ? origin_.input_names()[index] : absl::StrCat("x", index),
                  Head(input).type(0));
  }
  for (int n : order) {
    for (int k = 0; k < Head(n).num_outputs(); ++k) {
      const std::string* label = value_({n, k}).label;
      if (label != nullptr) builder.Label(Value(now[n], k), *label);
    }
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    builder.Output(named ? origin_.output_names()[i] : absl::StrCat("y", i),
                   Value(now[outputs_[i].node], outputs_[i].output));
  }
  if (nodes != nullptr) *nodes = std::move(now);
  return *std::move(builder).Build();
}

}  // namespace lemma
