#include "runtime/reference/all_values.h"

#include <vector>

#include "runtime/reference/reference.h"

namespace lemma {

absl::StatusOr<absl::flat_hash_map<Value, Tensor>> AllValues(const Graph& graph,
                                                             absl::Span<const Tensor> inputs,
                                                             int threads) {
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) values[Value(node, 0)] = node->payload();
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at(v));
    auto results = EvaluateNode(*node, operands, threads);
    if (!results.ok()) return results.status();
    for (int k = 0; k < node->num_outputs(); ++k) values[Value(node, k)] = (*results)[k];
  }
  return values;
}

}  // namespace lemma
