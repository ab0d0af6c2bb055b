#include "graph/expr/substitute.h"

#include <utility>
#include <vector>

#include "graph/expr/free_vars.h"

namespace lemma {
namespace {

class Substituter {
 public:
  explicit Substituter(const ExprSubstitution& substitution)
      : substitution_(substitution), vars_(substitution.vars) {}

  IndexExpr Apply(const IndexExpr& e);
  Guard Apply(const Guard& g);
  ScalarExpr Apply(const ScalarExpr& e);

 private:
  // A node and, for each of its free variables that a freshly bound Reduce renamed, the new name:
  // two Reduces may bind the same variable and share a subterm.
  using Key = std::pair<const ScalarNode*, std::vector<std::pair<VarId, VarId>>>;

  Key KeyOf(const ScalarExpr& e);
  ScalarExpr Rebuild(const ScalarExpr& e);
  ScalarExpr RebuildReduce(const ScalarExpr& e);
  Idx Apply(const Idx& indices);

  const ExprSubstitution& substitution_;
  absl::flat_hash_map<VarId, IndexExpr> vars_;
  absl::flat_hash_map<VarId, VarId> renamed_;
  absl::flat_hash_map<Key, ScalarExpr> memo_;
  FreeVars free_;
};

IndexExpr Substituter::Apply(const IndexExpr& e) {
  switch (e.kind()) {
    case IndexExpr::Kind::kConst:
      return e;
    case IndexExpr::Kind::kSymbol: {
      auto it = substitution_.symbols.find(e.name());
      return it == substitution_.symbols.end() ? e : it->second;
    }
    case IndexExpr::Kind::kVar: {
      auto it = vars_.find(e.var());
      return it == vars_.end() ? e : it->second;
    }
    case IndexExpr::Kind::kLoad: {
      ScalarExpr loaded = Apply(ScalarExpr(e.load()));
      if (loaded.kind() == ScalarExpr::Kind::kIndex) return loaded.index();
      return loaded.node() == e.load() ? e : IndexExpr::Load(loaded.node());
    }
    default:
      return Binary(e.kind(), Apply(e.lhs()), Apply(e.rhs()));
  }
}

Guard Substituter::Apply(const Guard& g) {
  switch (g.kind()) {
    case Guard::Kind::kTrue:
    case Guard::Kind::kFalse:
      return g;
    case Guard::Kind::kLe:
      return Le(Apply(g.lhs()), Apply(g.rhs()));
    case Guard::Kind::kEq:
      return Eq(Apply(g.lhs()), Apply(g.rhs()));
    case Guard::Kind::kAnd:
      return Apply(g.left()) && Apply(g.right());
    case Guard::Kind::kOr:
      return Apply(g.left()) || Apply(g.right());
    case Guard::Kind::kNot:
      return !Apply(g.left());
  }
  return g;
}

Idx Substituter::Apply(const Idx& indices) {
  Idx result;
  for (const IndexExpr& index : indices) result.push_back(Apply(index));
  return result;
}

Substituter::Key Substituter::KeyOf(const ScalarExpr& e) {
  Key key{e.node().get(), {}};
  if (renamed_.empty()) return key;
  for (VarId var : free_.Of(e)) {
    auto it = renamed_.find(var);
    if (it != renamed_.end()) key.second.push_back(*it);
  }
  return key;
}

ScalarExpr Substituter::Apply(const ScalarExpr& e) {
  if (e.kind() == ScalarExpr::Kind::kConst) return e;
  Key key = KeyOf(e);
  auto it = memo_.find(key);
  if (it != memo_.end()) return it->second;
  ScalarExpr result = Rebuild(e);
  memo_.emplace(std::move(key), result);
  return result;
}

ScalarExpr Substituter::Rebuild(const ScalarExpr& e) {
  switch (e.kind()) {
    case ScalarExpr::Kind::kConst:
      return e;
    case ScalarExpr::Kind::kParam: {
      auto it = substitution_.params.find(e.name());
      return it == substitution_.params.end() ? e : it->second;
    }
    case ScalarExpr::Kind::kIndex:
      return ScalarExpr::Index(Apply(e.index()));
    case ScalarExpr::Kind::kRead: {
      Idx indices = Apply(e.indices());
      if (substitution_.read) return substitution_.read(e.tensor(), std::move(indices));
      return ScalarExpr::Read(e.tensor(), std::move(indices));
    }
    case ScalarExpr::Kind::kApply: {
      std::vector<ScalarExpr> args;
      for (const ScalarExpr& arg : e.args()) args.push_back(Apply(arg));
      return ScalarExpr::Apply(e.fn(), std::move(args));
    }
    case ScalarExpr::Kind::kSelect: {
      Guard guard = Apply(e.guard());
      if (guard.is_true()) return Apply(e.args()[0]);
      if (guard.is_false()) return Apply(e.args()[1]);
      return ScalarExpr::Select(std::move(guard), Apply(e.args()[0]), Apply(e.args()[1]));
    }
    case ScalarExpr::Kind::kReduce:
      return RebuildReduce(e);
  }
  return e;
}

ScalarExpr Substituter::RebuildReduce(const ScalarExpr& e) {
  auto saved_vars = vars_;
  auto saved_renamed = renamed_;
  std::vector<Axis> axes;
  for (const Axis& axis : e.axes()) {
    IndexExpr extent = Apply(axis.extent);
    if (substitution_.fresh != nullptr) {
      VarId fresh = (*substitution_.fresh)++;
      vars_[axis.var] = IndexExpr::Var(fresh);
      renamed_[axis.var] = fresh;
    }
    auto it = vars_.find(axis.var);
    axes.push_back({it == vars_.end() ? axis.var : it->second.var(), std::move(extent)});
  }
  Guard guard = Apply(e.guard());
  ScalarExpr body = Apply(e.args()[0]);
  vars_ = std::move(saved_vars);
  renamed_ = std::move(saved_renamed);
  return ScalarExpr::Reduce(e.reduce(), std::move(axes), std::move(guard), std::move(body));
}

}  // namespace

IndexExpr Substitute(const IndexExpr& e, const ExprSubstitution& substitution) {
  return Substituter(substitution).Apply(e);
}
Guard Substitute(const Guard& g, const ExprSubstitution& substitution) {
  return Substituter(substitution).Apply(g);
}
ScalarExpr Substitute(const ScalarExpr& e, const ExprSubstitution& substitution) {
  return Substituter(substitution).Apply(e);
}

}  // namespace lemma
