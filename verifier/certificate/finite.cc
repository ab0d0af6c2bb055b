#include "verifier/certificate/finite.h"

#include <utility>
#include <vector>

namespace lemma::certificate {

bool FiniteWeights::AreFinite(const Value& value) {
  // Uses an explicit stack, operands first: chains may be long.
  std::vector<std::pair<NodePtr, size_t>> stack = {{value.node_ptr(), 0}};
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next < node->inputs().size() && !known_.contains(node.get())) {
      const NodePtr& operand = node->inputs()[next++].node_ptr();
      if (!known_.contains(operand.get())) stack.emplace_back(operand, 0);
      continue;
    }
    if (!known_.contains(node.get())) known_[node.get()] = OfNode(node);
    stack.pop_back();
  }
  return known_.at(&value.node()) != Known::kNot;
}

// The operands are known.
FiniteWeights::Known FiniteWeights::OfNode(const NodePtr& node) const {
  if (node->kind() == Node::Kind::kInput || !node->is_finite()) return Known::kNot;
  if (!node->is_op()) return node->has_payload() ? Known::kFinite : Known::kAssumed;
  Known result = Known::kFinite;
  for (const Value& v : node->inputs()) {
    const Known operand = known_.at(&v.node());
    if (operand == Known::kNot) return Known::kNot;
    if (operand == Known::kAssumed) result = Known::kAssumed;
  }
  if (result == Known::kAssumed) return result;
  for (int i = 0; i < node->num_outputs(); ++i) {
    const auto tensor = folder_.ValueOf(Value(node, i));
    if (!tensor.ok() || !tensor->IsFinite()) return Known::kNot;
  }
  return result;
}

}  // namespace lemma::certificate
