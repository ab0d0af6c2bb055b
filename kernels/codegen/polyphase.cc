#include "kernels/codegen/polyphase.h"

#include <algorithm>
#include <optional>

#include "graph/expr/free_vars.h"
#include "graph/expr/simplify.h"
#include "graph/expr/substitute.h"
#include "kernels/codegen/reductions.h"

namespace lemma::codegen {

using loops::NestSource;

namespace {

constexpr int64_t kMostPhases = 4;  // per axis, and 4 * 4 in all

void CollectEqualities(const Guard& g, std::vector<Guard>* equalities) {
  if (g.kind() == Guard::Kind::kAnd) {
    CollectEqualities(g.left(), equalities);
    CollectEqualities(g.right(), equalities);
  } else if (g.kind() == Guard::Kind::kEq) {
    equalities->push_back(g);
  }
}

// The modulus of "e mod m == constant"; 0 for any other guard.
int64_t ModulusOf(const Guard& equality) {
  const IndexExpr& left = equality.lhs();
  if (left.kind() != IndexExpr::Kind::kMod || !left.rhs().is_const()) return 0;
  return equality.rhs().is_const() ? left.rhs().value() : 0;
}

std::optional<bool> Holds(const Guard& equality, VarId var, int64_t at) {
  IndexEnv env;
  env.var = [&](VarId v) { return v == var ? std::optional<int64_t>(at) : std::nullopt; };
  env.symbol = [](const std::string&) { return std::nullopt; };
  const auto a = EvaluateIndex(equality.lhs(), env), b = EvaluateIndex(equality.rhs(), env);
  if (!a || !b) return std::nullopt;
  return *a == *b;
}

// `reduce` with the phases set to `constants`, restricted to admitted values.
class Admitted {
 public:
  Admitted(const ScalarExpr& reduce, const ExprSubstitution& constants, int* fresh)
      : axes_(reduce.axes()), fresh_(fresh), terms_(constants) {
    std::vector<Guard> equalities;
    const Guard guard = Substitute(reduce.guard(), constants);
    none_ = guard.is_false();
    CollectEqualities(guard, &equalities);
    for (const Guard& equality : equalities) Use(equality);
    terms_.fresh = fresh;
    if (none_) {
      result_ = 0;
      return;
    }
    result_ = ScalarExpr::Reduce(reduce.reduce(), axes_, Substitute(reduce.guard(), terms_),
                                 Substitute(reduce.args()[0], terms_));
  }

  const ScalarExpr& result() const { return result_; }

 private:
  void Use(const Guard& equality) {
    const VarSet vars = FreeVars().Of(equality);
    if (vars.empty()) {
      none_ = none_ || !Holds(equality, -1, 0).value_or(true);
      return;
    }
    const int64_t modulus = ModulusOf(equality);
    if (vars.size() != 1 || modulus < 2 || modulus > kMostPhases) return;
    auto axis = std::find_if(axes_.begin(), axes_.end(),
                             [&](const Axis& a) { return a.var == *vars.begin(); });
    if (axis == axes_.end() || !axis->extent.is_const()) return;
    // Replaces the axis only by the values it admits; the guard stays and is simplified away.
    const int64_t extent = axis->extent.value();
    std::vector<int64_t> admitted;
    for (int64_t at = 0; at < extent; ++at) {
      const auto holds = Holds(equality, axis->var, at);
      if (!holds) return;
      if (*holds) admitted.push_back(at);
    }
    if (admitted.empty()) {
      none_ = true;
      return;
    }
    for (size_t i = 0; i < admitted.size(); ++i) {
      if (admitted[i] != admitted[0] + static_cast<int64_t>(i) * modulus) return;
    }
    const VarId step = (*fresh_)++;
    terms_.vars[axis->var] = IndexExpr::Var(step) * modulus + admitted[0];
    *axis = {step, static_cast<int64_t>(admitted.size())};
  }

  std::vector<Axis> axes_;
  int* fresh_;
  ExprSubstitution terms_;
  bool none_ = false;
  ScalarExpr result_;
};

NestSource AtPhase(const NestSource& source, const ScalarExpr& reduce,
                   const std::vector<VarId>& phases, const ExprSubstitution& constants,
                   int* fresh) {
  NestSource result;
  result.slot = source.slot;
  Simplifier simplifier;
  for (const Axis& axis : source.axes) {
    if (std::count(phases.begin(), phases.end(), axis.var) > 0) continue;
    result.axes.push_back(axis);
    simplifier.SetExtent(axis.var, axis.extent);
  }
  for (const IndexExpr& index : source.out) {
    result.out.push_back(simplifier.Simplify(Substitute(index, constants)));
  }
  const ScalarExpr body =
      Replace(source.body, reduce.node().get(), Admitted(reduce, constants, fresh).result());
  ExprSubstitution rest = constants;
  rest.fresh = fresh;
  result.body = simplifier.Simplify(Substitute(body, rest));
  return result;
}

}  // namespace

std::vector<NestSource> SplitIntoPhases(const NestSource& source, const ScalarExpr& reduce,
                                        int* fresh) {
  if (reduce.reduce() != ReduceKind::kSum) return {};  // an empty sum is 0
  std::vector<Guard> equalities;
  CollectEqualities(reduce.guard(), &equalities);
  std::vector<VarId> phases;
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const Axis& axis : source.axes) {
    const bool guarded = std::any_of(equalities.begin(), equalities.end(), [&](const Guard& g) {
      return Contains(FreeVars().Of(g), axis.var);
    });
    const int64_t extent = axis.extent.value();
    if (!guarded || extent < 2 || extent > kMostPhases) continue;
    phases.push_back(axis.var);
    extents.push_back(extent);
    count *= extent;
  }
  if (phases.empty() || count > kMostPhases * kMostPhases) return {};
  std::vector<NestSource> result;
  for (int64_t phase = 0; phase < count; ++phase) {
    ExprSubstitution constants;
    int64_t rest = phase;
    for (size_t i = 0; i < phases.size(); ++i) {
      constants.vars[phases[i]] = rest % extents[i];
      rest /= extents[i];
    }
    result.push_back(AtPhase(source, reduce, phases, constants, fresh));
  }
  return result;
}

}  // namespace lemma::codegen
