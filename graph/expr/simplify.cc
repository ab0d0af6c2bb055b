#include "graph/expr/simplify.h"

#include <algorithm>

#include "graph/expr/affine.h"

namespace lemma {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) {
  int64_t q = a / b;
  return a % b < 0 ? q - 1 : q;
}

}  // namespace

void Simplifier::SetExtent(VarId var, const IndexExpr& extent) {
  if (extent.is_const()) extents_[var] = extent.value();
}

std::optional<Interval> Simplifier::Bounds(const IndexExpr& e) const {
  auto range = [this](VarId var) -> std::optional<Interval> {
    auto it = extents_.find(var);
    if (it == extents_.end()) return std::nullopt;
    return Interval{0, std::max<int64_t>(it->second - 1, 0)};
  };
  // Uses the normal form, so that a repeated variable counts once.
  if (auto linear = ToAffine(e)) return BoundIndex(ToIndexExpr(*linear), range);
  return BoundIndex(e, range);
}

// a div m or a mod m: if a = m * q + r and 0 <= r < m, the quotient is q and the remainder r.
IndexExpr Simplifier::SimplifyQuotient(const IndexExpr& a, int64_t m, bool quotient) {
  IndexExpr unchanged = quotient ? FloorDiv(a, m) : Mod(a, m);
  auto linear = ToAffine(a);
  if (!linear) {
    auto bounds = Bounds(a);
    if (!bounds || bounds->lo < 0 || bounds->hi >= m) return unchanged;
    return quotient ? IndexExpr(0) : a;
  }
  Affine q, r;
  q.base = FloorDivide(linear->base, m);
  r.base = linear->base - m * q.base;
  for (const auto& [v, c] : linear->terms) {
    if (c % m == 0) {
      q.terms.push_back({v, c / m});
    } else {
      r.terms.push_back({v, c});
    }
  }
  auto bounds = Bounds(ToIndexExpr(r));
  if (bounds && FloorDivide(bounds->lo, m) == FloorDivide(bounds->hi, m)) {
    int64_t extra = FloorDivide(bounds->lo, m);
    q.base += extra;
    r.base -= m * extra;
    return ToIndexExpr(quotient ? q : r);
  }
  if (quotient) return ToIndexExpr(q) + FloorDiv(ToIndexExpr(r), m);
  return Mod(ToIndexExpr(r), m);
}

IndexExpr Simplifier::Simplify(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
      return e;
    case IndexExpr::Kind::kVar: {
      auto it = extents_.find(e.var());
      return it != extents_.end() && it->second <= 1 ? IndexExpr(0) : e;
    }
    case IndexExpr::Kind::kLoad: {
      ScalarExpr loaded = Simplify(ScalarExpr(e.load()));
      return loaded.node() == e.load() ? e : IndexExpr::Load(loaded.node());
    }
    default:
      break;
  }
  IndexExpr a = Simplify(e.lhs()), b = Simplify(e.rhs());
  switch (e.kind()) {
    case IndexExpr::Kind::kAdd:
    case IndexExpr::Kind::kMul: {
      IndexExpr result = e.kind() == IndexExpr::Kind::kAdd ? a + b : a * b;
      auto linear = ToAffine(result);
      return linear ? ToIndexExpr(*linear) : result;
    }
    case IndexExpr::Kind::kFloorDiv:
    case IndexExpr::Kind::kMod: {
      bool quotient = e.kind() == IndexExpr::Kind::kFloorDiv;
      if (b.is_const() && b.value() > 0) return SimplifyQuotient(a, b.value(), quotient);
      return quotient ? FloorDiv(a, b) : Mod(a, b);
    }
    default: {
      bool min = e.kind() == IndexExpr::Kind::kMin;
      if (auto difference = Bounds(a - b)) {
        if (difference->hi <= 0) return min ? a : b;
        if (difference->lo >= 0) return min ? b : a;
      }
      return min ? Min(a, b) : Max(a, b);
    }
  }
}

Guard Simplifier::SimplifyComparison(const Guard& g) {
  IndexExpr a = Simplify(g.lhs()), b = Simplify(g.rhs());
  auto difference = Bounds(a - b);
  if (g.kind() == Guard::Kind::kLe) {
    if (difference && difference->hi <= 0) return true;
    if (difference && difference->lo > 0) return false;
    return Le(a, b);
  }
  if (difference && (difference->lo > 0 || difference->hi < 0)) return false;
  if (difference && difference->lo == 0 && difference->hi == 0) return true;
  return Eq(a, b);
}

Guard Simplifier::Simplify(const Guard& g) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return g;
    case Guard::Kind::kLe:
    case Guard::Kind::kEq:
      return SimplifyComparison(g);
    case Guard::Kind::kNot:
      return !Simplify(g.left());
    case Guard::Kind::kAnd:
      return Simplify(g.left()) && Simplify(g.right());
    case Guard::Kind::kOr:
      return Simplify(g.left()) || Simplify(g.right());
  }
  return g;
}

ScalarExpr Simplifier::Simplify(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kConst || e.kind() == ScalarExpr::Kind::kParam) return e;
  auto it = memo_.find(e.node().get());
  if (it != memo_.end()) return it->second.second;
  ScalarExpr result = Rebuild(e);
  memo_.emplace(e.node().get(), std::make_pair(e, result));
  return result;
}

ScalarExpr Simplifier::Rebuild(const ScalarExpr& e) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
    case ScalarExpr::Kind::kParam:
      return e;
    case ScalarExpr::Kind::kIndex:
      return ScalarExpr::Index(Simplify(e.index()));
    case ScalarExpr::Kind::kRead: {
      Idx indices;
      for (const IndexExpr& index : e.indices()) indices.push_back(Simplify(index));
      return ScalarExpr::Read(e.tensor(), std::move(indices));
    }
    case ScalarExpr::Kind::kApply: {
      std::vector<ScalarExpr> args;
      for (const ScalarExpr& arg : e.args()) args.push_back(Simplify(arg));
      return ScalarExpr::Apply(e.fn(), std::move(args));
    }
    case ScalarExpr::Kind::kSelect: {
      Guard guard = Simplify(e.guard());
      if (guard.is_true()) return Simplify(e.args()[0]);
      if (guard.is_false()) return Simplify(e.args()[1]);
      ScalarExpr then = Simplify(e.args()[0]);
      return ScalarExpr::Select(std::move(guard), std::move(then), Simplify(e.args()[1]));
    }
    case ScalarExpr::Kind::kReduce:
      break;
  }
  std::vector<Axis> axes;
  for (const Axis& axis : e.axes()) {
    axes.push_back({axis.var, Simplify(axis.extent)});
    SetExtent(axis.var, axes.back().extent);
  }
  Guard guard = Simplify(e.guard());
  return ScalarExpr::Reduce(e.reduce(), std::move(axes), std::move(guard), Simplify(e.args()[0]));
}

}  // namespace lemma
