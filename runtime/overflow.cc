#include "runtime/overflow.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/reference/all_values.h"
#include "runtime/tolerance.h"

namespace lemma {
namespace {

bool AllFinite(const Tensor& tensor) {
  for (int64_t i = 0; IsFloat(tensor.dtype()) && i < tensor.size(); ++i) {
    if (!std::isfinite(tensor.AtDouble(i))) return false;
  }
  return true;
}

// Whether a finite element is within a factor 2^10 of the largest float.
bool IsLarge(const Tensor& tensor) {
  constexpr double kNear = std::numeric_limits<float>::max() / 1024.0;
  for (int64_t i = 0; IsFloat(tensor.dtype()) && i < tensor.size(); ++i) {
    const double x = std::abs(tensor.AtDouble(i));
    if (std::isfinite(x) && x > kNear) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads) {
  const auto values = AllValues(graph, inputs, threads);
  if (!values.ok()) return values.status();
  for (const NodePtr& node : graph.nodes()) {
    if (!node->is_op()) continue;
    const bool finite = std::all_of(node->inputs().begin(), node->inputs().end(),
                                    [&](const Value& v) { return AllFinite(values->at(v)); });
    for (int k = 0; k < node->num_outputs(); ++k) {
      const Tensor& result = values->at(Value(node, k));
      if (IsLarge(result) || (finite && !AllFinite(result))) return true;
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
