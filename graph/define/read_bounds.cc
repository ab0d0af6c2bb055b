#include "graph/define/read_bounds.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/hash.h"
#include "graph/define/linear.h"
#include "graph/expr/free_vars.h"
#include "graph/expr/substitute.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::define {
namespace {

// The same with a symbolic dimension in the place of each symbol, such as those of a rule; nullopt
// if more than the laws of sums and products might then be used, which hold for any integers.
std::optional<IndexExpr> WithDims(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return e;
    case IndexExpr::Kind::kSymbol:
      return SymbolicDim(e.name(), {0, SizeRange::kNoLimit});
    case IndexExpr::Kind::kAdd:
    case IndexExpr::Kind::kMul: {
      const auto a = WithDims(e.lhs()), b = WithDims(e.rhs());
      if (!a || !b) return std::nullopt;
      return Binary(e.kind(), *a, *b);
    }
    case IndexExpr::Kind::kFloorDiv:
    case IndexExpr::Kind::kMod:
      if (e.rhs().AsConst().value_or(0) >= 1) {
        if (const auto a = WithDims(e.lhs())) return Binary(e.kind(), *a, e.rhs());
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// Whether a <= b for all values of the symbols, seen from their ranges or, for symbols without one,
// since b - a is a number.
bool IsAtMost(const IndexExpr& a, const IndexExpr& b) {
  if (Decide(Le(a, b)) == true) return true;
  const IndexExpr difference = b - a;
  IndexEnv any;  // if the difference is a number, any values of the symbols give it
  any.symbol = [](const std::string& name) { return 1000 + HashString(name) % 1000; };
  const auto number = EvaluateIndex(difference, any);
  if (!number || *number < 0) return false;
  const auto dims = WithDims(difference);
  return dims && AreEqual(*dims, *number);
}

class Bounds {
 public:
  explicit Bounds(const Scope& scope) : scope_(scope) {
    for (const Guard& condition : scope.conditions) {
      never_ = never_ || condition.is_false();
      AddFacts(condition, /*negated=*/false);
    }
  }

  // A condition on sizes under which e <= 0 everywhere in scope.
  Guard AtMostZero(const IndexExpr& e) const {
    if (never_) return true;
    std::vector<Guard> candidates;
    if (const auto most = Most(e, 1)) candidates.push_back(Le(*most, 0));
    for (const IndexExpr& fact : facts_) {
      if (const auto most = Most(e - fact, 1)) candidates.push_back(Le(*most, 0));
    }
    for (const Guard& candidate : candidates) {
      const bool open = candidate.kind() == Guard::Kind::kLe;
      if (open ? IsAtMost(candidate.lhs(), candidate.rhs()) : candidate.is_true()) return true;
    }
    // Without a condition of the scope, since those speak of variables.
    const auto most = Most(e, 1);
    if (!most || Decide(Le(*most, 0)) == false) return false;
    return Le(*most, 0);
  }

 private:
  // Adds expressions that are at most 0 where the guard holds.
  void AddFacts(const Guard& g, bool negated) {
    switch (g.kind()) {
      case Guard::Kind::kLe:
        facts_.push_back(negated ? g.rhs() - g.lhs() + 1 : g.lhs() - g.rhs());
        return;
      case Guard::Kind::kEq:
        if (negated) return;
        facts_.push_back(g.lhs() - g.rhs());
        facts_.push_back(g.rhs() - g.lhs());
        return;
      case Guard::Kind::kAnd:
      case Guard::Kind::kOr:
        if ((g.kind() == Guard::Kind::kOr) != negated) return;
        AddFacts(g.left(), negated);
        AddFacts(g.right(), negated);
        return;
      case Guard::Kind::kNot:
        AddFacts(g.left(), !negated);
        return;
      default:
        return;
    }
  }

  // Whether `e`, which mentions no variables, is known to be at least 0.
  bool IsNonNegative(const IndexExpr& e) const {
    if (IsAtMost(0, e)) return true;
    return std::any_of(facts_.begin(), facts_.end(), [&](const IndexExpr& fact) {
      return IsAtMost(0, e + fact);  // fact <= 0
    });
  }

  // Something that sign * e does not exceed, without variables and without elements of tensors.
  std::optional<IndexExpr> Most(const IndexExpr& e, int sign) const {
    IndexExpr bound = e;
    if (HasLoads(e)) {
      const auto relaxed = Relaxed(e, sign);
      if (!relaxed) return std::nullopt;
      bound = *relaxed;
    }
    for (auto axis = scope_.axes.rbegin(); axis != scope_.axes.rend(); ++axis) {
      auto linear = LinearIn(bound, axis->var);
      if (!linear) {
        // Not linear: replace what is not by its bounds, from the inside.
        const auto relaxed = Relaxed(bound, sign);
        if (!relaxed) return std::nullopt;
        bound = *relaxed;
        linear = LinearIn(bound, axis->var);
        if (!linear) return std::nullopt;
      }
      if (linear->factor.AsConst() == 0) {
        bound = linear->rest;
        continue;
      }
      const IndexExpr last = axis->extent - 1;
      if (IsNonNegative(linear->factor)) {
        bound = sign > 0 ? linear->factor * last + linear->rest : linear->rest;
      } else if (IsNonNegative(-linear->factor)) {
        bound = sign > 0 ? linear->rest : linear->factor * last + linear->rest;
      } else {
        return std::nullopt;
      }
    }
    if (IsOpen(bound)) return std::nullopt;
    return sign > 0 ? bound : -bound;
  }

  // `e` or an expression that sign * e does not exceed, with quotients, remainders, minima and
  // maxima of variables replaced by bounds.
  std::optional<IndexExpr> Relaxed(const IndexExpr& e, int sign) const {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return e;
      case IndexExpr::Kind::kAdd: {
        const auto a = Relaxed(e.lhs(), sign), b = Relaxed(e.rhs(), sign);
        if (!a || !b) return std::nullopt;
        return *a + *b;
      }
      case IndexExpr::Kind::kMul: {
        const IndexExpr* constant = e.lhs().is_const() ? &e.lhs() : &e.rhs();
        const IndexExpr& other = e.lhs().is_const() ? e.rhs() : e.lhs();
        if (!constant->is_const()) return HasLoads(e) ? std::nullopt : std::optional(e);
        const auto inner = Relaxed(other, constant->value() < 0 ? -sign : sign);
        if (!inner) return std::nullopt;
        return *constant * *inner;
      }
      case IndexExpr::Kind::kMod:
        if (!IsOpen(e)) return e;
        if (IsOpen(e.rhs())) return std::nullopt;
        return sign > 0 ? e.rhs() - 1 : IndexExpr(0);
      case IndexExpr::Kind::kFloorDiv: {
        if (!IsOpen(e)) return e;
        if (IsOpen(e.rhs())) return std::nullopt;
        const auto most = Most(e.lhs(), sign);  // of sign * lhs
        if (!most) return std::nullopt;
        return FloorDiv(sign > 0 ? *most : -*most, e.rhs());
      }
      case IndexExpr::Kind::kMin:
      case IndexExpr::Kind::kMax: {
        if (!IsOpen(e)) return e;
        const bool is_min = e.kind() == IndexExpr::Kind::kMin;
        if (is_min == (sign > 0)) {  // either operand is a bound; prefer one without variables
          const auto a = Relaxed(e.lhs(), sign);
          if (a && !IsOpen(*a)) return a;
          const auto b = Relaxed(e.rhs(), sign);
          return b ? b : a;
        }
        const auto left = Most(e.lhs(), sign), right = Most(e.rhs(), sign);
        if (!left || !right) return std::nullopt;
        if (sign > 0) return Max(*left, *right);
        return Min(-*left, -*right);
      }
      case IndexExpr::Kind::kLoad:
        return std::nullopt;
    }
    return std::nullopt;
  }

  static bool HasLoads(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return false;
      case IndexExpr::Kind::kLoad:
        return true;
      default:
        return HasLoads(e.lhs()) || HasLoads(e.rhs());
    }
  }
  // Whether the value depends on variables or on elements of tensors.
  static bool IsOpen(const IndexExpr& e) {
    FreeVars free;
    return HasLoads(e) || !free.Of(e).empty();
  }

  const Scope& scope_;
  bool never_ = false;            // no values meet the conditions
  std::vector<IndexExpr> facts_;  // at most 0 in this scope
};

}  // namespace

Guard Inside(const IndexExpr& index, const IndexExpr& dim, const Scope& scope) {
  const Bounds bounds(scope);
  return bounds.AtMostZero(-index) && bounds.AtMostZero(index - dim + 1);
}

Guard NonNegative(const IndexExpr& e, const Scope& scope) { return Bounds(scope).AtMostZero(-e); }

}  // namespace lemma::define
