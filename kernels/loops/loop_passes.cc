#include "kernels/loops/loop_passes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/expr/free_vars.h"
#include "graph/expr/simplify.h"
#include "graph/expr/substitute.h"
#include "kernels/loops/contraction.h"

namespace lemma {
namespace loops {
namespace {

constexpr size_t kMaxPieces = 32;
// The number of lanes that justifies a separate block.
constexpr int64_t kEnoughLanes = 256;

// Calls visit(node) once for every expression in `e`, including conditions and indices.
class Walker {
 public:
  virtual ~Walker() = default;

  void Walk(const ScalarExpr& e) {
    if (!seen_.insert(e.node().get()).second) return;
    for (const IndexExpr& index : e.indices()) Walk(index);
    Walk(e.index());
    for (const Axis& axis : e.axes()) Walk(axis.extent);
    Walk(e.guard());
    for (const ScalarExpr& arg : e.args()) Walk(arg);
  }

 protected:
  virtual void Visit(const IndexExpr&) {}
  virtual void Visit(const Guard&) {}

  void Walk(const IndexExpr& e) {
    Visit(e);
    if (e.is_const() || e.kind() == IndexExpr::Kind::kVar || e.kind() == IndexExpr::Kind::kSymbol) {
      return;
    }
    if (e.kind() == IndexExpr::Kind::kLoad) return Walk(ScalarExpr(e.load()));
    Walk(e.lhs());
    Walk(e.rhs());
  }

  void Walk(const Guard& g) {
    if (g.is_true() || g.is_false()) return;
    Visit(g);
    if (g.kind() == Guard::Kind::kLe || g.kind() == Guard::Kind::kEq) {
      Walk(g.lhs());
      return Walk(g.rhs());
    }
    Walk(g.left());
    if (g.kind() != Guard::Kind::kNot) Walk(g.right());
  }

 private:
  absl::flat_hash_set<const ScalarNode*> seen_;
};

int64_t CeilDivide(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// Finds where guards on a single variable change their value.
class BreakFinder : public Walker {
 public:
  std::map<VarId, std::set<int64_t>> breaks;

 protected:
  void Visit(const Guard& g) override {
    if (g.kind() != Guard::Kind::kLe && g.kind() != Guard::Kind::kEq) return;
    auto difference = ToAffine(g.lhs() - g.rhs());
    if (!difference || difference->terms.size() != 1) return;
    auto [var, c] = difference->terms[0];
    const int64_t d = difference->base;
    if (g.kind() == Guard::Kind::kLe) {
      // c * v + d <= 0 changes at v = floor(-d / c) + 1 or at v = ceil(d / -c).
      breaks[var].insert(c > 0 ? -CeilDivide(d, c) + 1 : CeilDivide(d, -c));
    } else if (d % c == 0) {
      breaks[var].insert(-d / c);
      breaks[var].insert(-d / c + 1);
    }
  }
};

// Finds the constants that divide variables.
class DivisorFinder : public Walker {
 public:
  std::map<VarId, std::set<int64_t>> divisors;

 protected:
  void Visit(const IndexExpr& e) override {
    if (e.kind() != IndexExpr::Kind::kFloorDiv && e.kind() != IndexExpr::Kind::kMod) return;
    if (e.lhs().kind() == IndexExpr::Kind::kVar && e.rhs().is_const()) {
      divisors[e.lhs().var()].insert(e.rhs().value());
    }
  }
};

// Finds variables of which a guard admits every m-th value, and m, as for the stride of a
// transposed convolution.
class PhaseFinder : public Walker {
 public:
  std::map<VarId, std::set<int64_t>> phases;

 protected:
  void Visit(const Guard& g) override {
    constexpr int64_t kMaxPhases = 8;
    if (g.kind() != Guard::Kind::kEq || g.lhs().kind() != IndexExpr::Kind::kMod) return;
    const IndexExpr& m = g.lhs().rhs();
    auto linear = ToAffine(g.lhs().lhs());
    if (!linear || !m.is_const() || m.value() < 2 || m.value() > kMaxPhases) return;
    for (const auto& [var, c] : linear->terms) {
      if (c == 1 || c == -1) phases[var].insert(m.value());
    }
  }
};

NestSource Simplified(NestSource source) {
  Simplifier simplifier;
  for (const Axis& axis : source.axes) simplifier.SetExtent(axis.var, axis.extent);
  for (IndexExpr& index : source.out) index = simplifier.Simplify(index);
  source.body = simplifier.Simplify(source.body);
  return source;
}

// Two pieces of a nest have different ranges of the same variables, so each binds its own.
NestSource Substituted(const NestSource& source, ExprSubstitution substitution, int* fresh) {
  NestSource result = source;
  for (IndexExpr& index : result.out) index = Substitute(index, substitution);
  substitution.fresh = fresh;
  result.body = Substitute(result.body, substitution);
  return result;
}

}  // namespace

std::vector<NestSource> SplitAtGuards(const NestSource& unsimplified, int* fresh) {
  NestSource source = Simplified(unsimplified);
  BreakFinder finder;
  finder.Walk(source.body);
  std::vector<std::vector<int64_t>> cuts;  // of each axis, including its ends
  size_t pieces = 1;
  for (const Axis& axis : source.axes) {
    std::vector<int64_t> points = {0};
    for (int64_t at : finder.breaks[axis.var]) {
      if (0 < at && at < axis.extent.value()) points.push_back(at);
    }
    pieces *= points.size();
    if (pieces > kMaxPieces) return {source};
    points.push_back(axis.extent.value());
    cuts.push_back(std::move(points));
  }
  if (pieces == 1) return {source};
  std::vector<NestSource> result;
  for (size_t piece = 0; piece < pieces; ++piece) {
    NestSource part = source;
    ExprSubstitution shift;
    size_t rest = piece;
    for (size_t i = 0; i < source.axes.size(); ++i) {
      size_t which = rest % (cuts[i].size() - 1);
      rest /= cuts[i].size() - 1;
      part.axes[i].extent = cuts[i][which + 1] - cuts[i][which];
      shift.vars[source.axes[i].var] = IndexExpr::Var(source.axes[i].var) + cuts[i][which];
    }
    result.push_back(Simplified(Substituted(part, std::move(shift), fresh)));
  }
  return result;
}

namespace {

// The number of phases to split `axis` into, if that pays.
std::optional<int64_t> PhasesOf(const Axis& axis, const std::set<int64_t>& phases) {
  constexpr int64_t kWorthwhile = 4;
  const int64_t extent = axis.extent.value();
  if (phases.size() != 1 || extent % *phases.begin() != 0) return std::nullopt;
  if (extent / *phases.begin() < kWorthwhile) return std::nullopt;
  return *phases.begin();
}

// Appends one axis per digit of `axis` to `axes`, or `axis` itself if it has no digits. Each
// divisor must be a multiple of the preceding one, and the extent of the last one.
void AppendDigits(const Axis& axis, const std::set<int64_t>& divisors, std::vector<Axis>* axes,
                  ExprSubstitution* split, int* fresh) {
  bool chain = !divisors.empty() && *divisors.begin() > 1;
  int64_t unit = 1;
  for (int64_t divisor : divisors) {
    chain = chain && divisor % unit == 0;
    unit = divisor;
  }
  const int64_t extent = axis.extent.value();
  if (!chain || unit >= extent || extent % unit != 0) {
    axes->push_back(axis);
    return;
  }
  IndexExpr whole;
  int64_t above = extent;
  for (auto divisor = divisors.rbegin(); divisor != divisors.rend(); ++divisor) {
    axes->push_back({(*fresh)++, above / *divisor});
    whole = whole + IndexExpr(*divisor) * IndexExpr::Var(axes->back().var);
    above = *divisor;
  }
  axes->push_back({(*fresh)++, above});
  split->vars[axis.var] = whole + IndexExpr::Var(axes->back().var);
}

}  // namespace

NestSource SplitMixedAxes(const NestSource& source, int* fresh) {
  DivisorFinder finder;
  finder.Walk(source.body);
  PhaseFinder phase_finder;
  phase_finder.Walk(source.body);
  NestSource result = source;
  result.axes.clear();
  std::vector<Axis> phases;
  ExprSubstitution split;
  for (const Axis& axis : source.axes) {
    if (auto by = PhasesOf(axis, phase_finder.phases[axis.var])) {
      phases.push_back({(*fresh)++, *by});
      result.axes.push_back({(*fresh)++, axis.extent.value() / *by});
      split.vars[axis.var] =
          IndexExpr::Var(result.axes.back().var) * *by + IndexExpr::Var(phases.back().var);
      continue;
    }
    AppendDigits(axis, finder.divisors[axis.var], &result.axes, &split, fresh);
  }
  if (split.vars.empty()) return source;
  // Outermost, so that lanes run over the values of one phase.
  result.axes.insert(result.axes.begin(), phases.begin(), phases.end());
  return Simplified(Substituted(result, std::move(split), fresh));
}

ScalarExpr SplitMixedReduction(const ScalarExpr& reduce, const std::vector<Axis>& around,
                               int* fresh) {
  DivisorFinder finder;
  finder.Walk(reduce.args()[0]);
  std::vector<Axis> axes;
  ExprSubstitution split;
  for (const Axis& axis : reduce.axes()) {
    if (!axis.extent.is_const()) return reduce;
    AppendDigits(axis, finder.divisors[axis.var], &axes, &split, fresh);
  }
  if (split.vars.empty()) return reduce;
  Simplifier simplifier;
  for (const Axis& axis : around) simplifier.SetExtent(axis.var, axis.extent);
  for (const Axis& axis : axes) simplifier.SetExtent(axis.var, axis.extent);
  split.fresh = fresh;
  return simplifier.Simplify(ScalarExpr::Reduce(reduce.reduce(), axes,
                                                Substitute(reduce.guard(), split),
                                                Substitute(reduce.args()[0], split)));
}

std::vector<NestSource> CollapseShortAxes(const NestSource& source, int* fresh) {
  size_t first = source.axes.size();
  int64_t lanes = 1, last = 1;
  while (first > 0 && lanes < kEnoughLanes) {
    const int64_t extent = source.axes[--first].extent.value();
    if (last == 1) last = extent;
    lanes *= extent;
  }
  if (last >= kEnoughLanes || lanes == last) return {};
  NestSource result = source;
  result.axes.resize(first);
  Axis flat{(*fresh)++, lanes};
  ExprSubstitution unflatten;
  int64_t inner = lanes;
  for (size_t i = first; i < source.axes.size(); ++i) {
    inner /= std::max<int64_t>(source.axes[i].extent.value(), 1);
    unflatten.vars[source.axes[i].var] =
        Mod(FloorDiv(IndexExpr::Var(flat.var), inner), source.axes[i].extent);
  }
  result.axes.push_back(flat);
  return {Substituted(result, std::move(unflatten), fresh)};
}

namespace {

// Rebuilds an expression bottom-up with reductions replaced by reads of new tensors.
class Extractor {
 public:
  Extractor(const NestSource& source, std::vector<Slot>* slots, std::vector<NestSource>* before)
      : context_(source.axes), slots_(slots), before_(before) {
    for (const Axis& axis : context_) num_outer_ += axis.extent.value() > 1 ? 1 : 0;
    root_ = source.body.node().get();
  }

  ScalarExpr Rebuild(const ScalarExpr& e);

 private:
  ScalarExpr RebuildReduce(const ScalarExpr& e);
  bool WorthATensor(const ScalarExpr& e, const std::vector<Axis>& axes, bool is_root) const;
  ScalarExpr Extract(const ScalarExpr& e, const std::vector<Axis>& axes);

  std::vector<Axis> context_;  // the enclosing loops, outermost first
  size_t num_outer_ = 0;       // how many of them are axes of the output with extent above 1
  const ScalarNode* root_;
  std::vector<Slot>* slots_;
  std::vector<NestSource>* before_;
  absl::flat_hash_map<const ScalarNode*, ScalarExpr> memo_;
  std::vector<ScalarExpr> keep_alive_;  // FreeVars remembers these by address
  FreeVars free_;
};

ScalarExpr Extractor::Rebuild(const ScalarExpr& e) {
  auto it = memo_.find(e.node().get());
  if (it != memo_.end()) return it->second;
  ScalarExpr result = e;
  if (e.kind() == ScalarExpr::Kind::kApply) {
    std::vector<ScalarExpr> args;
    bool changed = false;
    for (const ScalarExpr& arg : e.args()) {
      args.push_back(Rebuild(arg));
      changed = changed || args.back().node() != arg.node();
    }
    if (changed) result = ScalarExpr::Apply(e.fn(), std::move(args));
  } else if (e.kind() == ScalarExpr::Kind::kReduce) {
    result = RebuildReduce(e);
  }
  memo_.emplace(e.node().get(), result);
  return result;
}

ScalarExpr Extractor::RebuildReduce(const ScalarExpr& e) {
  const size_t depth = context_.size();
  context_.insert(context_.end(), e.axes().begin(), e.axes().end());
  // Under a false guard the body may be meaningless.
  ScalarExpr body = e.guard().is_true() ? Rebuild(e.args()[0]) : e.args()[0];
  context_.resize(depth);
  ScalarExpr rebuilt = e;
  if (body.node() != e.args()[0].node()) {
    rebuilt = ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), body);
  }
  keep_alive_.push_back(rebuilt);
  const VarSet& vars = free_.Of(rebuilt);
  std::vector<Axis> axes;
  for (const Axis& axis : context_) {
    if (!Contains(vars, axis.var)) continue;
    if (!axis.extent.is_const()) return rebuilt;
    axes.push_back(axis);
  }
  if (!WorthATensor(rebuilt, axes, e.node().get() == root_)) return rebuilt;
  return Extract(rebuilt, axes);
}

bool Extractor::WorthATensor(const ScalarExpr& e, const std::vector<Axis>& axes,
                             bool is_root) const {
  // The root already is a nest of its own.
  if (is_root && axes.size() == num_outer_) return false;
  if (axes.empty()) return !context_.empty();
  if (MatchContraction(e, axes)) return true;
  // Loops that do not affect the reduction but enclose loops that do: they repeat it.
  int64_t repeated = 1;
  size_t found = 0;
  for (const Axis& axis : context_) {
    if (found == axes.size()) break;
    if (axes[found].var == axis.var) {
      ++found;
    } else {
      repeated *= axis.extent.is_const() ? axis.extent.value() : 2;
    }
  }
  return repeated > 1;
}

ScalarExpr Extractor::Extract(const ScalarExpr& e, const std::vector<Axis>& axes) {
  NestSource nest;
  nest.slot = static_cast<int>(slots_->size());
  nest.axes = axes;
  nest.body = e;
  Slot slot;
  for (const Axis& axis : axes) {
    slot.dims.push_back(axis.extent.value());
    nest.out.push_back(IndexExpr::Var(axis.var));
  }
  slot.strides.assign(slot.dims.size(), 1);
  for (size_t i = slot.dims.size(); i-- > 1;) {
    slot.strides[i - 1] = slot.strides[i] * slot.dims[i];
  }
  slots_->push_back(std::move(slot));
  before_->push_back(nest);
  return ScalarExpr::Read(nest.slot, nest.out);
}

}  // namespace

NestSource ExtractReductions(const NestSource& source, std::vector<Slot>* slots,
                             std::vector<NestSource>* before) {
  NestSource result = source;
  result.body = Extractor(source, slots, before).Rebuild(source.body);
  return result;
}

}  // namespace loops
}  // namespace lemma
