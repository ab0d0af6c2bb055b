#include "kernels/loops/contraction.h"

#include <algorithm>
#include <utility>

#include "graph/expr/free_vars.h"
#include "graph/expr/substitute.h"
#include "kernels/loops/loop_lowering.h"
#include "kernels/loops/loop_merge.h"
#include "kernels/loops/loop_schedule.h"

namespace lemma {
namespace loops {
namespace {

// With fewer rows or less depth, copying the factors costs more than it saves.
constexpr int64_t kMinDepth = 4;
constexpr int64_t kMinWork = 4096;
// All partitions of the factors into two are tried.
constexpr size_t kMaxFactors = 6;

int64_t Size(const std::vector<Axis>& axes) {
  int64_t size = 1;
  for (const Axis& axis : axes) size *= axis.extent.value();
  return size;
}

void CollectFactors(const ScalarExpr& e, std::vector<ScalarExpr>* factors) {
  if (e.kind() == ScalarExpr::Kind::kApply && e.fn() == ScalarFn::kMul) {
    CollectFactors(e.args()[0], factors);
    CollectFactors(e.args()[1], factors);
  } else {
    factors->push_back(e);
  }
}

void CollectConjuncts(const Guard& g, std::vector<Guard>* conjuncts) {
  if (g.kind() == Guard::Kind::kAnd) {
    CollectConjuncts(g.left(), conjuncts);
    CollectConjuncts(g.right(), conjuncts);
  } else if (!g.is_true()) {
    conjuncts->push_back(g);
  }
}

// Splits `axes` by the side that mentions them; axes of extent 1 may have been simplified away.
// False if neither side mentions an axis.
bool Classify(const std::vector<Axis>& axes, const VarSet& a, const VarSet& b,
              ContractionSource* c) {
  c->batch.clear();
  c->m.clear();
  c->n.clear();
  for (const Axis& axis : axes) {
    bool in_a = Contains(a, axis.var), in_b = Contains(b, axis.var);
    if (!in_a && !in_b && axis.extent.value() != 1) return false;
    (in_a == in_b ? c->batch : in_a ? c->m : c->n).push_back(axis);
  }
  return true;
}

bool Worthwhile(const ContractionSource& c, int64_t least_rows) {
  int64_t m = Size(c.m), n = Size(c.n), k = Size(c.k);
  return m >= least_rows && n >= least_rows && k >= kMinDepth && m * n * k >= kMinWork;
}

// Moves each conjunct to a side that has its variables.
bool PlaceGuards(const std::vector<Guard>& conjuncts, FreeVars* free, const VarSet& a_vars,
                 const VarSet& b_vars, Guard* a, Guard* b) {
  auto within = [](const VarSet& inner, const VarSet& outer) {
    return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
  };
  for (const Guard& g : conjuncts) {
    VarSet vars = free->Of(g);
    if (within(vars, a_vars)) {
      *a = *a && g;
    } else if (within(vars, b_vars)) {
      *b = *b && g;
    } else {
      return false;
    }
  }
  return true;
}

ScalarExpr Guarded(const Guard& g, const ScalarExpr& e) { return ScalarExpr::Select(g, e, 0); }

// An index variable for all of `axes`, the last one fastest, and its replacement of each.
Axis Flatten(const std::vector<Axis>& axes, int* fresh, ExprSubstitution* substitution) {
  Axis flat{(*fresh)++, Size(axes)};
  IndexExpr rest = IndexExpr::Var(flat.var);
  int64_t inner = Size(axes);
  for (const Axis& axis : axes) {
    inner /= std::max<int64_t>(axis.extent.value(), 1);
    substitution->vars[axis.var] = Mod(FloorDiv(rest, inner), axis.extent);
  }
  return flat;
}

Factor LowerFactor(const ScalarExpr& e, const std::vector<Axis>& batch,
                   const std::vector<Axis>& rows, const std::vector<Axis>& depths,
                   absl::Span<const Slot> slots) {
  NestSource source;
  source.slot = 0;
  source.body = e;
  Factor factor;
  auto add = [&source](const std::vector<Axis>& axes, bool keep_all, std::vector<int>* vars) {
    for (const Axis& axis : axes) {
      if (keep_all || axis.extent.value() > 1) {
        vars->push_back(static_cast<int>(source.axes.size()));
      }
      source.axes.push_back(axis);
    }
  };
  add(batch, true, &factor.batch);
  add(rows, false, &factor.rows);
  add(depths, false, &factor.depths);
  factor.nest = Lower(source, slots, LowerOptions{/*merge_axes=*/false});
  MergeAxes(&factor.nest, &factor.rows);
  MergeAxes(&factor.nest, &factor.depths);
  factor.nest.axes = factor.batch;
  for (const std::vector<int>* vars : {&factor.rows, &factor.depths}) {
    factor.nest.axes.insert(factor.nest.axes.end(), vars->begin(), vars->end());
  }
  ScheduleAmong(&factor.nest, {factor.rows.back(), factor.depths.back()});
  return factor;
}

}  // namespace

std::optional<ContractionSource> MatchContraction(const ScalarExpr& reduce,
                                                  const std::vector<Axis>& axes,
                                                  int64_t least_rows) {
  if (reduce.kind() != ScalarExpr::Kind::kReduce || reduce.reduce() != ReduceKind::kSum) {
    return std::nullopt;
  }
  ContractionSource c;
  c.k = reduce.axes();
  for (const Axis& axis : c.k) {
    if (!axis.extent.is_const()) return std::nullopt;
  }
  std::vector<ScalarExpr> factors;
  CollectFactors(reduce.args()[0], &factors);
  if (factors.size() < 2 || factors.size() > kMaxFactors) return std::nullopt;
  std::vector<Guard> conjuncts;
  CollectConjuncts(reduce.guard(), &conjuncts);
  c.guarded = !conjuncts.empty();

  FreeVars free;
  // The first factor is on side a; each other one may be on either side.
  for (unsigned sides = 1; sides < (1u << (factors.size() - 1)); ++sides) {
    VarSet a_vars, b_vars;
    std::optional<ScalarExpr> a, b;
    for (size_t i = 0; i < factors.size(); ++i) {
      bool on_b = i > 0 && (sides >> (i - 1) & 1) != 0;
      VarSet& vars = on_b ? b_vars : a_vars;
      vars = Union(vars, free.Of(factors[i]));
      std::optional<ScalarExpr>& side = on_b ? b : a;
      side = side ? *side * factors[i] : factors[i];
    }
    if (!Classify(axes, a_vars, b_vars, &c) || !Worthwhile(c, least_rows)) continue;
    for (const Axis& axis : c.k) a_vars = Union(a_vars, {axis.var});
    for (const Axis& axis : c.k) b_vars = Union(b_vars, {axis.var});
    Guard a_guard, b_guard;
    if (!PlaceGuards(conjuncts, &free, a_vars, b_vars, &a_guard, &b_guard)) continue;
    c.a = Guarded(a_guard, *a);
    c.b = Guarded(b_guard, *b);
    // Side b runs along the lanes of the result.
    auto last = std::find_if(axes.rbegin(), axes.rend(),
                             [](const Axis& axis) { return axis.extent.value() > 1; });
    if (last != axes.rend() && std::any_of(c.m.begin(), c.m.end(), [&](const Axis& axis) {
          return axis.var == last->var;
        })) {
      std::swap(c.m, c.n);
      std::swap(c.a, c.b);
    }
    return c;
  }
  return std::nullopt;
}

Contraction LowerContraction(const NestSource& source, const ContractionSource& contraction,
                             absl::Span<const Slot> slots, int* fresh) {
  const ContractionSource& from = contraction;
  Contraction c;
  for (const Axis& axis : from.batch) c.batch.push_back(axis.extent.value());
  c.m = Size(from.m);
  c.n = Size(from.n);
  c.k = Size(from.k);
  c.guarded = from.guarded;
  c.a = LowerFactor(from.a, from.batch, from.m, from.k, slots);
  c.b = LowerFactor(from.b, from.batch, from.n, from.k, slots);

  ExprSubstitution flatten;
  NestSource out;
  out.slot = source.slot;
  out.axes = from.batch;
  out.axes.push_back(Flatten(from.m, fresh, &flatten));
  out.axes.push_back(Flatten(from.n, fresh, &flatten));
  for (const IndexExpr& index : source.out) out.out.push_back(Substitute(index, flatten));
  out.body = 0;
  c.out = Lower(out, slots, LowerOptions{/*merge_axes=*/false});
  for (size_t i = 0; i < from.batch.size(); ++i) c.out_batch.push_back(static_cast<int>(i));
  c.out_m = static_cast<int>(from.batch.size());
  c.out_n = c.out_m + 1;
  return c;
}

}  // namespace loops
}  // namespace lemma
