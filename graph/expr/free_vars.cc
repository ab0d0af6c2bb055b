#include "graph/expr/free_vars.h"

#include <algorithm>
#include <iterator>
#include <memory>

namespace lemma {

VarSet Union(const VarSet& a, const VarSet& b) {
  if (a.empty()) return b;
  VarSet result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

bool Contains(const VarSet& set, VarId var) {
  return std::binary_search(set.begin(), set.end(), var);
}

VarSet FreeVars::Of(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
      return {};
    case IndexExpr::Kind::kVar:
      return {e.var()};
    case IndexExpr::Kind::kLoad:
      return Of(ScalarExpr(e.load()));
    default:
      return Union(Of(e.lhs()), Of(e.rhs()));
  }
}

VarSet FreeVars::Of(const Guard& g) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return {};
    case Guard::Kind::kLe:
    case Guard::Kind::kEq:
      return Union(Of(g.lhs()), Of(g.rhs()));
    case Guard::Kind::kNot:
      return Of(g.left());
    default:
      return Union(Of(g.left()), Of(g.right()));
  }
}

const VarSet& FreeVars::Of(const ScalarExpr& e) {
  auto it = memo_.find(e.node().get());
  if (it != memo_.end()) return *it->second;
  auto computed = std::make_unique<VarSet>(Compute(e));
  return *(memo_[e.node().get()] = std::move(computed));
}

VarSet FreeVars::Compute(const ScalarExpr& e) {
  VarSet result;
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
    case ScalarExpr::Kind::kParam:
      return result;
    case ScalarExpr::Kind::kIndex:
      return Of(e.index());
    case ScalarExpr::Kind::kRead:
      for (const IndexExpr& index : e.indices()) result = Union(result, Of(index));
      return result;
    case ScalarExpr::Kind::kApply:
      for (const ScalarExpr& arg : e.args()) result = Union(result, Of(arg));
      return result;
    case ScalarExpr::Kind::kSelect:
      return Union(Of(e.guard()), Union(Of(e.args()[0]), Of(e.args()[1])));
    case ScalarExpr::Kind::kReduce:
      break;
  }
  result = Union(Of(e.guard()), Of(e.args()[0]));
  for (auto axis = e.axes().rbegin(); axis != e.axes().rend(); ++axis) {
    result.erase(std::remove(result.begin(), result.end(), axis->var), result.end());
    result = Union(result, Of(axis->extent));
  }
  return result;
}

}  // namespace lemma
