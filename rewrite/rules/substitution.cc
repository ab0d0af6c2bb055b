#include "rewrite/rules/substitution.h"

#include <iterator>

#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

constexpr const char* kContracts[] = {"bit_exact", "reassociates", "real_only", "bounded"};

// The comparison of two integers as a guard, if one of them is no number.
std::optional<Guard> SizeGuard(Relation relation, const ExprAttr& lhs, const ExprAttr& rhs) {
  auto *a = std::get_if<IndexExpr>(&lhs), *b = std::get_if<IndexExpr>(&rhs);
  if (a == nullptr || b == nullptr || (a->is_const() && b->is_const())) return std::nullopt;
  if (!ToSize(*a) || !ToSize(*b)) return std::nullopt;  // symbols of a rule
  switch (relation) {
    case Relation::kEq:
      return Eq(*a, *b);
    case Relation::kNe:
      return Ne(*a, *b);
    case Relation::kLt:
      return Lt(*a, *b);
    case Relation::kLe:
      return Le(*a, *b);
    case Relation::kGt:
      return Gt(*a, *b);
    case Relation::kGe:
      return Ge(*a, *b);
  }
  return std::nullopt;
}

std::optional<double> Number(const ExprAttr& value) {
  if (auto* i = std::get_if<IndexExpr>(&value); i != nullptr && !i->is_const()) {
    return std::nullopt;
  }
  auto constant = ToAttrValue(value);
  if (!constant) return std::nullopt;
  if (auto* i = std::get_if<int64_t>(&*constant)) return static_cast<double>(*i);
  if (auto* d = std::get_if<double>(&*constant)) return *d;
  return std::nullopt;
}

}  // namespace

const char* Name(FloatContract contract) { return kContracts[static_cast<int>(contract)]; }

std::optional<FloatContract> ParseFloatContract(absl::string_view name) {
  for (size_t i = 0; i < std::size(kContracts); ++i) {
    if (name == kContracts[i]) return static_cast<FloatContract>(i);
  }
  return std::nullopt;
}

const char* Name(ProofRecord::Verdict verdict) {
  static constexpr const char* kNames[] = {"none", "proved", "refuted", "unknown"};
  return kNames[static_cast<int>(verdict)];
}

const char* Name(Relation relation) {
  static constexpr const char* kNames[] = {"=", "!=", "<", "<=", ">", ">="};
  return kNames[static_cast<int>(relation)];
}

std::optional<bool> Evaluate(const Comparison& comparison, const SymbolValues& values) {
  auto lhs = Evaluate(comparison.lhs, values), rhs = Evaluate(comparison.rhs, values);
  if (!lhs || !rhs) return std::nullopt;
  if (auto guard = SizeGuard(comparison.relation, *lhs, *rhs)) return Decide(*guard);
  bool equality = comparison.relation == Relation::kEq || comparison.relation == Relation::kNe;
  auto a = Number(*lhs), b = Number(*rhs);
  if (!a || !b) {
    if (!equality || a || b) return std::nullopt;
    return SameValue(*lhs, *rhs) == (comparison.relation == Relation::kEq);
  }
  switch (comparison.relation) {
    case Relation::kEq:
      return *a == *b;
    case Relation::kNe:
      return *a != *b;
    case Relation::kLt:
      return *a < *b;
    case Relation::kLe:
      return *a <= *b;
    case Relation::kGt:
      return *a > *b;
    case Relation::kGe:
      return *a >= *b;
  }
  return std::nullopt;
}

}  // namespace lemma
