#include "tests/graph/onnx/compare.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// Terms that one value of `e` sums up.
double Terms(const ScalarExpr& e, absl::flat_hash_map<const ScalarNode*, double>* memo) {
  auto [it, is_new] = memo->emplace(e.node().get(), 1.0);
  if (!is_new) return it->second;
  double terms = 1;
  if (e.kind() == ScalarExpr::Kind::kApply || e.kind() == ScalarExpr::Kind::kSelect ||
      e.kind() == ScalarExpr::Kind::kReduce) {
    for (const ScalarExpr& arg : e.args()) terms = std::max(terms, Terms(arg, memo));
  }
  if (e.kind() == ScalarExpr::Kind::kReduce) {
    for (const Axis& axis : e.axes()) {
      terms *= static_cast<double>(std::max<int64_t>(1, axis.extent.AsConst().value_or(1)));
    }
  }
  return (*memo)[e.node().get()] = terms;
}

double Terms(const Node& node) {
  auto definition = DefinitionOf(node);
  if (!definition.ok()) return 1;
  double terms = 0;
  absl::flat_hash_map<const ScalarNode*, double> memo;
  for (const TensorExpr& tensor : definition->tensors) terms += Terms(tensor.body, &memo);
  return terms;
}

double Epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-53;
    case DType::kF16:
      return 0x1p-11;
    case DType::kBF16:
      return 0x1p-8;
    default:
      return 0x1p-24;
  }
}

}  // namespace

double ReductionLength(const Graph& graph) {
  absl::flat_hash_map<const Node*, double> length;
  double longest = 0;
  for (const NodePtr& node : graph.nodes()) {
    double own = 0;
    for (const Value& input : node->inputs()) own = std::max(own, length[&input.node()]);
    if (node->is_op()) own += Terms(*node);
    length[node.get()] = own;
    longest = std::max(longest, own);
  }
  return longest;
}

double IntegerSlack(const Graph& graph) {
  for (const NodePtr& node : graph.nodes()) {
    if (node->IsOp("round")) return 1;
  }
  return 0;
}

std::string Difference(const Tensor& actual, const Tensor& expected, double length,
                       double integer_slack) {
  if (actual.type() != expected.type()) {
    return absl::StrCat("is ", actual.type().ToString(), ", expected ", expected.type().ToString());
  }
  double scale = 0, tolerance = expected.dtype() == DType::kBool ? 0 : integer_slack;
  if (IsFloat(expected.dtype())) {
    for (double v : expected.ToDoubles()) {
      if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
    }
    tolerance = 4 * Epsilon(expected.dtype()) * (1 + length) * scale;
  }
  for (int64_t i = 0; i < expected.size(); ++i) {
    const double a = actual.AtDouble(i), e = expected.AtDouble(i);
    const bool same = std::isnan(e) ? std::isnan(a) : a == e || std::abs(a - e) <= tolerance;
    if (!same) {
      return absl::StrCat("element ", i, " is ", a, ", expected ", e, " +- ", tolerance);
    }
  }
  return "";
}

}  // namespace lemma
