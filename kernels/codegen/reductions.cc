#include "kernels/codegen/reductions.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "graph/expr/free_vars.h"
#include "graph/expr/simplify.h"
#include "graph/expr/substitute.h"

namespace lemma::codegen {
namespace {

using Kind = ScalarExpr::Kind;
using Memo = absl::flat_hash_map<const ScalarNode*, ScalarExpr>;

// A new slot with element `body` at every value of `axes`.
loops::NestSource NewTensor(std::vector<Axis> axes, const ScalarExpr& body,
                            std::vector<loops::Slot>* slots) {
  loops::NestSource nest;
  nest.slot = static_cast<int>(slots->size());
  loops::Slot slot;
  for (const Axis& axis : axes) {
    slot.dims.push_back(axis.extent.value());
    nest.out.push_back(IndexExpr::Var(axis.var));
  }
  slot.strides.assign(slot.dims.size(), 1);
  for (size_t i = slot.dims.size(); i-- > 1;) {
    slot.strides[i - 1] = slot.strides[i] * slot.dims[i];
  }
  nest.axes = std::move(axes);
  nest.body = body;
  slots->push_back(std::move(slot));
  return nest;
}

// Rebuilds unguarded parts bottom-up, through applications and unguarded reductions.
class Rebuilder {
 public:
  virtual ~Rebuilder() = default;

  ScalarExpr Rebuild(const ScalarExpr& e) {
    auto it = memo_.find(e.node().get());
    if (it != memo_.end()) return it->second;
    ScalarExpr result = Change(e);
    memo_.emplace(e.node().get(), result);
    kept_.push_back(e);
    return result;
  }

 protected:
  virtual ScalarExpr Change(const ScalarExpr& e) {
    const bool inside =
        e.kind() == Kind::kApply || (e.kind() == Kind::kReduce && e.guard().is_true());
    if (!inside) return e;
    std::vector<ScalarExpr> args;
    bool changed = false;
    for (const ScalarExpr& arg : e.args()) {
      args.push_back(Rebuild(arg));
      changed = changed || args.back().node() != arg.node();
    }
    if (!changed) return e;
    if (e.kind() == Kind::kApply) return ScalarExpr::Apply(e.fn(), std::move(args));
    return ScalarExpr::Reduce(e.reduce(), e.axes(), e.guard(), args[0]);
  }

 private:
  Memo memo_;
  std::vector<ScalarExpr> kept_;  // the memo's keys
};

class Sharer : public Rebuilder {
 protected:
  ScalarExpr Change(const ScalarExpr& e) override {
    ScalarExpr result = Rebuilder::Change(e);
    if (result.kind() != Kind::kReduce) return result;
    constexpr VarId kCanonical = 1 << 29;
    ExprSubstitution rename;
    for (size_t i = 0; i < result.axes().size(); ++i) {
      rename.vars[result.axes()[i].var] = IndexExpr::Var(kCanonical + static_cast<VarId>(i));
    }
    return by_text_.emplace(Substitute(result, rename).ToString(), result).first->second;
  }

 private:
  absl::flat_hash_map<std::string, ScalarExpr> by_text_;
};

class Extractor : public Rebuilder {
 public:
  Extractor(const loops::NestSource& source, bool all, const ScalarNode* keep,
            std::vector<loops::Slot>* slots, std::vector<loops::NestSource>* before)
      : axes_(source.axes), all_(all), keep_(keep), slots_(slots), before_(before) {}

 protected:
  ScalarExpr Change(const ScalarExpr& e) override {
    ScalarExpr result = Rebuilder::Change(e);
    if (e.kind() != Kind::kReduce || e.node().get() == keep_) return result;
    rebuilt_.push_back(result);
    const VarSet& vars = free_.Of(result);
    std::vector<Axis> used;
    size_t found = 0, varying = 0, used_varying = 0;
    for (const Axis& axis : axes_) {
      const bool varies = axis.extent.value() > 1;
      varying += varies ? 1 : 0;
      if (!Contains(vars, axis.var)) continue;
      ++found;
      used_varying += varies ? 1 : 0;
      used.push_back(axis);
    }
    if (found != vars.size() || (!all_ && used_varying == varying)) return result;
    return Extract(result, std::move(used));
  }

 private:
  ScalarExpr Extract(const ScalarExpr& e, std::vector<Axis> axes) {
    before_->push_back(NewTensor(std::move(axes), e, slots_));
    return ScalarExpr::Read(before_->back().slot, before_->back().out);
  }

  const std::vector<Axis>& axes_;
  bool all_;
  const ScalarNode* keep_;
  std::vector<loops::Slot>* slots_;
  std::vector<loops::NestSource>* before_;
  std::vector<ScalarExpr> rebuilt_;  // FreeVars remembers these by address
  FreeVars free_;
};

class Replacer : public Rebuilder {
 public:
  Replacer(const ScalarNode* what, const ScalarExpr& by) : what_(what), by_(by) {}

 protected:
  ScalarExpr Change(const ScalarExpr& e) override {
    return e.node().get() == what_ ? by_ : Rebuilder::Change(e);
  }

 private:
  const ScalarNode* what_;
  ScalarExpr by_;
};

}  // namespace

ScalarExpr ShareReductions(const ScalarExpr& e) { return Sharer().Rebuild(e); }

std::vector<ScalarExpr> OuterReductions(const ScalarExpr& body) {
  std::vector<ScalarExpr> result;
  absl::flat_hash_set<const ScalarNode*> seen;
  std::function<void(const ScalarExpr&)> visit = [&](const ScalarExpr& e) {
    if (!seen.insert(e.node().get()).second) return;
    if (e.kind() == Kind::kReduce) result.push_back(e);
    if (e.kind() != Kind::kApply) return;
    for (const ScalarExpr& arg : e.args()) visit(arg);
  };
  visit(body);
  return result;
}

loops::NestSource MoveReductionsOut(const loops::NestSource& source, bool all,
                                    const ScalarNode* keep, std::vector<loops::Slot>* slots,
                                    std::vector<loops::NestSource>* before) {
  loops::NestSource result = source;
  result.body = Extractor(source, all, keep, slots, before).Rebuild(source.body);
  return result;
}

ScalarExpr SplitReduction(const ScalarExpr& reduce, const std::vector<Axis>& axes, int64_t parts,
                          int* fresh, std::vector<loops::Slot>* slots, loops::NestSource* partial) {
  const Axis part{(*fresh)++, parts};
  std::vector<Axis> steps;
  ExprSubstitution digits;
  Guard inside(true);
  // Splits one of the axes, if one has parts of equal length; otherwise all of them in a row.
  auto whole = std::find_if(reduce.axes().begin(), reduce.axes().end(),
                            [&](const Axis& axis) { return axis.extent.value() % parts == 0; });
  if (whole != reduce.axes().end()) {
    for (const Axis& axis : reduce.axes()) {
      steps.push_back({(*fresh)++, axis.extent});
      digits.vars[axis.var] = IndexExpr::Var(steps.back().var);
      if (axis.var != whole->var) continue;
      const int64_t length = axis.extent.value() / parts;
      steps.back().extent = length;
      digits.vars[axis.var] = IndexExpr::Var(part.var) * length + IndexExpr::Var(steps.back().var);
    }
  } else {
    int64_t inner = 1;
    for (const Axis& axis : reduce.axes()) inner *= axis.extent.value();
    const int64_t all = inner, length = (all + parts - 1) / parts;
    steps.push_back({(*fresh)++, length});
    const IndexExpr at = IndexExpr::Var(part.var) * length + IndexExpr::Var(steps[0].var);
    if (length * parts != all) inside = Lt(at, all);
    for (const Axis& axis : reduce.axes()) {
      inner /= axis.extent.value();
      digits.vars[axis.var] = Mod(FloorDiv(at, inner), axis.extent);
    }
  }
  inside = inside && Substitute(reduce.guard(), digits);
  digits.fresh = fresh;
  const ScalarExpr sum =
      ScalarExpr::Reduce(reduce.reduce(), steps, inside, Substitute(reduce.args()[0], digits));
  std::vector<Axis> outer = {part};
  outer.insert(outer.end(), axes.begin(), axes.end());
  *partial = NewTensor(std::move(outer), sum, slots);
  const Axis total{(*fresh)++, parts};
  Idx index = {IndexExpr::Var(total.var)};
  for (const Axis& axis : axes) index.push_back(IndexExpr::Var(axis.var));
  return ScalarExpr::Reduce(reduce.reduce(), {total}, Guard(true),
                            ScalarExpr::Read(partial->slot, std::move(index)));
}

namespace {

// Adds the variables of the conditions of selects in `e`.
void AddConditions(const ScalarExpr& e, FreeVars* free,
                   absl::flat_hash_set<const ScalarNode*>* seen, VarSet* vars) {
  if (!seen->insert(e.node().get()).second) return;
  if (e.kind() == Kind::kSelect) *vars = Union(*vars, free->Of(e.guard()));
  for (const ScalarExpr& arg : e.args()) AddConditions(arg, free, seen, vars);
}

}  // namespace

ScalarExpr UnrolledShortAxes(const ScalarExpr& reduce, const std::vector<Axis>& around,
                             int* fresh) {
  constexpr int64_t kFewValues = 4;
  if (reduce.reduce() != ReduceKind::kSum || !reduce.guard().is_true()) return reduce;
  std::vector<Axis> axes;
  std::vector<ScalarExpr> terms = {reduce.args()[0]};
  FreeVars free;
  absl::flat_hash_set<const ScalarNode*> seen;
  VarSet decided;
  AddConditions(terms[0], &free, &seen, &decided);
  for (size_t i = 0; i < reduce.axes().size(); ++i) {
    const Axis& axis = reduce.axes()[i];
    if (i + 1 == reduce.axes().size() || axis.extent.value() > kFewValues ||
        !Contains(decided, axis.var)) {
      axes.push_back(axis);
      continue;
    }
    std::vector<ScalarExpr> more;
    for (const ScalarExpr& term : terms) {
      for (int64_t value = 0; value < axis.extent.value(); ++value) {
        ExprSubstitution at;
        at.vars[axis.var] = value;
        at.fresh = fresh;
        more.push_back(Substitute(term, at));
      }
    }
    terms = std::move(more);
  }
  if (terms.size() == 1) return reduce;
  Simplifier simplifier;
  for (const Axis& axis : around) simplifier.SetExtent(axis.var, axis.extent);
  for (const Axis& axis : axes) simplifier.SetExtent(axis.var, axis.extent);
  ScalarExpr sum = simplifier.Simplify(terms[0]);
  for (size_t i = 1; i < terms.size(); ++i) {
    sum = ScalarExpr::Apply(ScalarFn::kAdd, {sum, simplifier.Simplify(terms[i])});
  }
  return ScalarExpr::Reduce(ReduceKind::kSum, std::move(axes), Guard(true), sum);
}

ScalarExpr Replace(const ScalarExpr& e, const ScalarNode* what, const ScalarExpr& by) {
  return Replacer(what, by).Rebuild(e);
}

bool IsApply(const ScalarExpr& e, ScalarFn fn) { return e.kind() == Kind::kApply && e.fn() == fn; }

bool HasReduction(const ScalarExpr& e) {
  if (e.kind() == Kind::kReduce) return true;
  return std::any_of(e.args().begin(), e.args().end(), HasReduction);
}

loops::NestSource SimplifiedSource(const TensorExpr& tensor, int slot, int* fresh) {
  loops::NestSource source = loops::SourceOf(tensor, slot, fresh);
  Simplifier simplifier;
  for (const Axis& axis : source.axes) simplifier.SetExtent(axis.var, axis.extent);
  for (IndexExpr& index : source.out) index = simplifier.Simplify(index);
  source.body = ShareReductions(simplifier.Simplify(source.body));
  return source;
}

FoundContraction FindContraction(const loops::NestSource& source, int64_t least_rows) {
  for (const ScalarExpr& reduce : OuterReductions(source.body)) {
    if (auto c = loops::MatchContraction(reduce, source.axes, least_rows)) {
      return std::make_pair(reduce, *c);
    }
  }
  return std::nullopt;
}

}  // namespace lemma::codegen
