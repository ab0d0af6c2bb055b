#include "runtime/overflow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "runtime/reference/all_values.h"
#include "runtime/reference/reference.h"
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

// Whether `e` multiplies elements of an operand, as they are, in a reduction.
bool ReducesByProduct(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kReduce && e.reduce() == ReduceKind::kProd) {
    return e.args()[0].kind() == ScalarExpr::Kind::kRead;
  }
  return std::any_of(e.args().begin(), e.args().end(), ReducesByProduct);
}

bool ReducesByProduct(const Node& node) {
  const auto definition = DefinitionOf(node);
  return definition.ok() &&
         std::any_of(definition->tensors.begin(), definition->tensors.end(),
                     [](const TensorExpr& tensor) { return ReducesByProduct(tensor.body); });
}

// The magnitudes, but none below 1. A product of some of `tensor`'s elements is at most the product
// of all elements of the result.
absl::StatusOr<Tensor> AtLeastOne(const Tensor& tensor) {
  if (!IsFloat(tensor.dtype())) return tensor;
  std::vector<double> values = tensor.ToDoubles();
  for (double& x : values) x = std::max(1.0, std::abs(x));
  return Tensor::FromDoubles(tensor.type(), values);
}

// Whether partial products of a reduction may overflow in some order, even if the product does not.
absl::StatusOr<bool> PartialProductsOverflow(const Node& node,
                                             const absl::flat_hash_map<Value, Tensor>& values,
                                             int threads) {
  if (!ReducesByProduct(node)) return false;
  std::vector<Tensor> operands;
  for (const Value& v : node.inputs()) {
    if (!AllFinite(values.at(v))) return false;
    LEMMA_ASSIGN_OR_RETURN(Tensor operand, AtLeastOne(values.at(v)));
    operands.push_back(std::move(operand));
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> bounds, EvaluateNode(node, operands, threads));
  return std::any_of(bounds.begin(), bounds.end(),
                     [](const Tensor& t) { return IsLarge(t) || !AllFinite(t); });
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
    LEMMA_ASSIGN_OR_RETURN(const bool partial, PartialProductsOverflow(*node, *values, threads));
    if (partial) return true;
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
