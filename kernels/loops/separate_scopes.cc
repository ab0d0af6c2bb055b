#include "kernels/loops/separate_scopes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "graph/expr/free_vars.h"

namespace lemma {
namespace loops {
namespace {

class Separator {
 public:
  Separator() : scopes_(1) {}

  ScalarExpr Rebuild(const ScalarExpr& e);

 private:
  // Subterms rebuilt for use in one guard's branch or under one reduction.
  using Scope = absl::flat_hash_map<const ScalarNode*, ScalarExpr>;

  IndexExpr Rebuild(const IndexExpr& e);
  Guard Rebuild(const Guard& g);
  ScalarExpr RebuildNode(const ScalarExpr& e);
  ScalarExpr RebuildReduce(const ScalarExpr& e);
  ScalarExpr RebuildBranch(const ScalarExpr& e);
  // The outermost scope that may use a rebuilt `e`.
  size_t Level(const ScalarExpr& e);

  std::vector<Scope> scopes_;
  size_t guard_level_ = 0;  // the innermost guarded scope
  struct Binding {
    VarId renamed;
    size_t level;
  };
  absl::flat_hash_map<VarId, Binding> bound_;
  VarId next_ = 1 << 28;
  FreeVars free_;
};

size_t Separator::Level(const ScalarExpr& e) {
  size_t level = guard_level_;
  for (VarId var : free_.Of(e)) {
    auto it = bound_.find(var);
    if (it != bound_.end()) level = std::max(level, it->second.level);
  }
  return level;
}

IndexExpr Separator::Rebuild(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
    case IndexExpr::Kind::kSymbol:
      return e;
    case IndexExpr::Kind::kVar: {
      auto it = bound_.find(e.var());
      return it == bound_.end() ? e : IndexExpr::Var(it->second.renamed);
    }
    case IndexExpr::Kind::kLoad:
      return IndexExpr::Load(Rebuild(ScalarExpr(e.load())).node());
    default:
      return Binary(e.kind(), Rebuild(e.lhs()), Rebuild(e.rhs()));
  }
}

Guard Separator::Rebuild(const Guard& g) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return g;
    case Guard::Kind::kLe:
      return Le(Rebuild(g.lhs()), Rebuild(g.rhs()));
    case Guard::Kind::kEq:
      return Eq(Rebuild(g.lhs()), Rebuild(g.rhs()));
    case Guard::Kind::kAnd:
      return Rebuild(g.left()) && Rebuild(g.right());
    case Guard::Kind::kOr:
      return Rebuild(g.left()) || Rebuild(g.right());
    case Guard::Kind::kNot:
      return !Rebuild(g.left());
  }
  return g;
}

ScalarExpr Separator::Rebuild(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kConst || e.kind() == ScalarExpr::Kind::kParam) return e;
  for (size_t i = scopes_.size(); i-- > 0;) {
    auto it = scopes_[i].find(e.node().get());
    if (it != scopes_[i].end()) return it->second;
  }
  ScalarExpr result = RebuildNode(e);
  scopes_[Level(e)].emplace(e.node().get(), result);
  return result;
}

ScalarExpr Separator::RebuildNode(const ScalarExpr& e) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kIndex:
      return ScalarExpr::Index(Rebuild(e.index()));
    case ScalarExpr::Kind::kRead: {
      Idx indices;
      for (const IndexExpr& index : e.indices()) indices.push_back(Rebuild(index));
      return ScalarExpr::Read(e.tensor(), std::move(indices));
    }
    case ScalarExpr::Kind::kApply: {
      std::vector<ScalarExpr> args;
      for (const ScalarExpr& arg : e.args()) args.push_back(Rebuild(arg));
      return ScalarExpr::Apply(e.fn(), std::move(args));
    }
    case ScalarExpr::Kind::kSelect: {
      Guard guard = Rebuild(e.guard());
      ScalarExpr then = RebuildBranch(e.args()[0]);
      return ScalarExpr::Select(std::move(guard), then, RebuildBranch(e.args()[1]));
    }
    case ScalarExpr::Kind::kReduce:
      return RebuildReduce(e);
    default:
      return e;
  }
}

ScalarExpr Separator::RebuildBranch(const ScalarExpr& e) {
  const size_t outer = std::exchange(guard_level_, scopes_.size());
  scopes_.emplace_back();
  ScalarExpr result = Rebuild(e);
  scopes_.pop_back();
  guard_level_ = outer;
  return result;
}

ScalarExpr Separator::RebuildReduce(const ScalarExpr& e) {
  std::vector<Axis> axes;
  std::vector<std::pair<VarId, std::optional<Binding>>> outer;
  scopes_.emplace_back();
  const size_t level = scopes_.size() - 1;
  for (const Axis& axis : e.axes()) {
    axes.push_back({next_++, Rebuild(axis.extent)});
    auto it = bound_.find(axis.var);
    outer.push_back({axis.var, it == bound_.end() ? std::nullopt : std::optional(it->second)});
    bound_[axis.var] = {axes.back().var, level};
  }
  Guard guard = Rebuild(e.guard());
  ScalarExpr body = guard.is_true() ? Rebuild(e.args()[0]) : RebuildBranch(e.args()[0]);
  scopes_.pop_back();
  for (auto it = outer.rbegin(); it != outer.rend(); ++it) {
    if (it->second) {
      bound_[it->first] = *it->second;
    } else {
      bound_.erase(it->first);
    }
  }
  return ScalarExpr::Reduce(e.reduce(), std::move(axes), std::move(guard), std::move(body));
}

}  // namespace

ScalarExpr SeparateScopes(const ScalarExpr& e) { return Separator().Rebuild(e); }

}  // namespace loops
}  // namespace lemma
