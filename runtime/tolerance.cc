#include "runtime/tolerance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "graph/expr/free_vars.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

constexpr double kUnitRoundoff = 1.0 / (1 << 24);
// Tensor cores truncate where others round to the nearest.
constexpr double kTruncation = 8;

struct Found {
  int64_t length = 0;
  bool computes = false;  // a scalar function or a reduction occurs
  bool products = false;  // a sum of products occurs
  bool rounds = false;    // numbers are rounded to TF32
};

// Finds the longest reduction in definitions whose open sizes have given values.
class ReductionSearch {
 public:
  explicit ReductionSearch(const DimValues& sizes) : sizes_(sizes) {}

  Found Run(const Definition& definition) {
    for (const TensorExpr& t : definition.tensors) Search(t.body, 1);
    return found_;
  }

 private:
  int64_t LengthOf(const IndexExpr& extent) const {
    if (auto known = extent.AsConst()) return std::max<int64_t>(*known, 1);
    const std::optional<int64_t> size = ToSize(extent);
    if (!size) return 1;
    std::map<std::string, SizeRange> dims;
    CollectDims(*size, &dims);
    DimValues values = sizes_;
    for (const auto& [name, range] : dims) values.emplace(name, range.least);
    const auto length = Evaluate(*size, values);
    return length.ok() ? std::max<int64_t>(*length, 1) : 1;
  }

  void Search(const ScalarExpr& e, int64_t around) {
    if (!seen_.insert(e.node().get()).second && around == 1) return;
    if (e.kind() == ScalarExpr::Kind::kApply) {
      found_.computes = true;
      found_.rounds = found_.rounds || e.fn() == ScalarFn::kRoundTf32;
    }
    if (e.kind() == ScalarExpr::Kind::kReduce) {
      found_.computes = true;
      for (const Axis& axis : e.axes()) around *= LengthOf(axis.extent);
      found_.length = std::max(found_.length, around);
      if (e.reduce() == ReduceKind::kSum && IsProduct(e.args()[0])) found_.products = true;
    }
    for (const ScalarExpr& arg : e.args()) Search(arg, around);
  }

  // Whether `e` is a product of two factors of which each varies where the other does not: the
  // terms of a matrix product or a convolution, not of a sum of squares.
  bool IsProduct(const ScalarExpr& e) {
    if (e.kind() == ScalarExpr::Kind::kSelect) {
      return std::any_of(e.args().begin(), e.args().end(),
                         [&](const ScalarExpr& arg) { return IsProduct(arg); });
    }
    if (e.kind() != ScalarExpr::Kind::kApply || e.fn() != ScalarFn::kMul) return false;
    const VarSet a = VarsOf(e.args()[0]), b = VarsOf(e.args()[1]);
    return !std::includes(a.begin(), a.end(), b.begin(), b.end()) &&
           !std::includes(b.begin(), b.end(), a.begin(), a.end());
  }

  // The variables with which the factor varies from one value to the next. The channel k of a
  // convolution's result decides only by k div (K div groups) which channels of the image it reads.
  static VarSet VarsOf(const ScalarExpr& e) {
    VarSet vars;
    for (const ScalarExpr& arg : e.args()) vars = Union(vars, VarsOf(arg));
    if (e.kind() == ScalarExpr::Kind::kIndex) return VarsOf(e.index());
    if (e.kind() != ScalarExpr::Kind::kRead) return vars;
    for (const IndexExpr& index : e.indices()) vars = Union(vars, VarsOf(index));
    return vars;
  }
  static VarSet VarsOf(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
        return {};
      case IndexExpr::Kind::kVar:
        return {e.var()};
      case IndexExpr::Kind::kLoad:
        return VarsOf(ScalarExpr(e.load()));
      case IndexExpr::Kind::kFloorDiv:
        return e.rhs().AsConst() == 1 ? VarsOf(e.lhs()) : VarSet();
      default:
        return Union(VarsOf(e.lhs()), VarsOf(e.rhs()));
    }
  }

  const DimValues& sizes_;
  absl::flat_hash_set<const ScalarNode*> seen_;
  Found found_;
};

double UnitOf(DType dtype) {
  if (dtype == DType::kF16) return 1.0 / (1 << 11);
  if (dtype == DType::kBF16) return 1.0 / (1 << 8);
  return 0;
}

}  // namespace

int64_t ReductionLength(const Definition& definition, const RunFindings& findings) {
  return ReductionSearch(findings.sizes).Run(definition).length;
}

double AddedError(const Node& node, const RunFindings& findings,
                  codegen::ProductPrecision precision) {
  absl::StatusOr<Definition> definition = DefinitionOf(node);
  if (!definition.ok()) {
    auto executed = findings.errors.find(&node);
    return executed == findings.errors.end() ? 0 : executed->second;
  }
  const Found found = ReductionSearch(findings.sizes).Run(*definition);
  // After rounding to 16 bits, or to TF32, values that barely differ can be two units apart.
  double stored = found.rounds ? 2 * codegen::UnitRoundoff(codegen::ProductPrecision::kTf32) : 0;
  for (const TensorType& type : node.types()) {
    const bool moved =
        !found.computes && !node.inputs().empty() && type.dtype == node.inputs()[0].dtype();
    if (!moved) stored = std::max(stored, 2 * UnitOf(type.dtype));
  }
  if (!found.computes) return stored;
  const double factors = found.products ? 4 * codegen::UnitRoundoff(precision) : 0;
  const bool truncates = found.products && precision == codegen::ProductPrecision::kStored;
  const double sums = kUnitRoundoff * (16 + 4 * std::sqrt(static_cast<double>(found.length)));
  return stored + factors + (truncates ? kTruncation : 1) * sums;
}

std::vector<double> RelativeTolerances(const Graph& graph, const RunFindings& findings,
                                       codegen::ProductPrecision precision) {
  absl::flat_hash_map<const Node*, double> error;
  for (const NodePtr& node : graph.nodes()) {
    double sum = 0;
    for (const Value& v : node->inputs()) sum = std::max(sum, error[&v.node()]);
    error[node.get()] = node->is_op() ? sum + AddedError(*node, findings, precision) : 0;
  }
  std::vector<double> result;
  for (const Value& v : graph.outputs()) {
    result.push_back(IsFloat(v.dtype()) ? error[&v.node()] : 0);
  }
  return result;
}

std::string Difference::ToString() const {
  return absl::StrCat("largest difference ", largest, " of values up to ", scale);
}

Difference Compare(const Tensor& actual, const Tensor& expected, double relative_tolerance) {
  Difference result;
  if (actual.type() != expected.type()) {
    result.within = false;
    result.largest = std::numeric_limits<double>::infinity();
    return result;
  }
  const bool exact = !IsFloat(actual.dtype()), is_small = IsSmallFloat(actual.dtype());
  result.elements = actual.size();
  for (int64_t i = 0; i < actual.size(); ++i) {
    const double a = actual.AtDouble(i), e = expected.AtDouble(i);
    if (exact && is_small && a != e && !(std::isnan(a) && std::isnan(e))) result.within = false;
    if (exact && !is_small && actual.AtInt(i) != expected.AtInt(i)) result.within = false;
    if (std::isfinite(e)) {
      ++result.finite;
      result.scale = std::max(result.scale, std::fabs(e));
    }
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    const double difference = std::fabs(a - e);
    result.largest = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                            : std::max(result.largest, difference);
  }
  if (!exact) result.within = result.largest <= relative_tolerance * result.scale;
  return result;
}

}  // namespace lemma
