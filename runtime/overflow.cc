#include "runtime/overflow.h"

#include <cmath>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "runtime/reference/reference.h"
#include "runtime/tolerance.h"

namespace lemma {

absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads) {
  constexpr double kNear = std::numeric_limits<float>::max() / 1024.0;
  absl::flat_hash_map<Value, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[graph.inputs()[i]] = inputs[i];
  for (const NodePtr& node : graph.nodes()) {
    if (node->has_payload()) values[Value(node, 0)] = node->payload();
    if (!node->is_op()) continue;
    std::vector<Tensor> operands;
    for (const Value& v : node->inputs()) operands.push_back(values.at(v));
    auto results = EvaluateNode(*node, operands, threads);
    if (!results.ok()) return results.status();
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Tensor& result = values[Value(node, k)] = (*results)[k];
      for (int64_t i = 0; IsFloat(result.dtype()) && i < result.size(); ++i) {
        if (std::abs(result.AtDouble(i)) > kNear) return true;
      }
    }
  }
  return false;
}

bool AgreesWhereFinite(const Tensor& actual, const Tensor& expected, double relative_tolerance) {
  if (actual.type() != expected.type() || !IsFloat(actual.dtype())) return false;
  const double allowed = relative_tolerance * Compare(actual, expected, relative_tolerance).scale;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.AtDouble(i), e = expected.AtDouble(i);
    if (std::isfinite(a) && std::isfinite(e) && std::abs(a - e) > allowed) return false;
  }
  return true;
}

}  // namespace lemma
