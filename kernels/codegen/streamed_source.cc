// Recognizes attention in a definition: a product with the softmax of another product's results.
#include <algorithm>
#include <optional>
#include <utility>

#include "graph/expr/compose.h"
#include "graph/expr/free_vars.h"
#include "graph/expr/simplify.h"
#include "graph/expr/substitute.h"
#include "kernels/codegen/reductions.h"
#include "kernels/codegen/schedules.h"
#include "kernels/loops/loop_check.h"
#include "kernels/loops/loop_passes.h"

namespace lemma::codegen {

using loops::NestSource;
using Kind = ScalarExpr::Kind;

namespace {

bool Reads(const ScalarExpr& e, TensorId tensor) {
  if (e.kind() == Kind::kRead && e.tensor() == tensor) return true;
  return std::any_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return Reads(arg, tensor); });
}

// Removes the roundings of `e` to a 16-bit type or f32; false if there are two 16-bit types.
bool StripRoundings(ScalarExpr* e, std::optional<DType>* rounded) {
  while (e->kind() == Kind::kApply && IsStored(e->fn())) {
    for (DType dtype : {DType::kF16, DType::kBF16}) {
      if (e->fn() != StoredAs(dtype)) continue;
      if (*rounded && **rounded != dtype) return false;
      *rounded = dtype;
    }
    const bool known = e->fn() == StoredAs(DType::kF32) || e->fn() == StoredAs(DType::kF16) ||
                       e->fn() == StoredAs(DType::kBF16);
    if (!known) return false;
    const ScalarExpr arg = e->args()[0];
    *e = arg;
  }
  return true;
}

// The body of `tensor`, a reduction of `kind` over one axis, at `index`, with `at` for that axis.
std::optional<ScalarExpr> TermOf(const TensorExpr& tensor, ReduceKind kind, const Idx& index,
                                 const Axis& at) {
  const ScalarExpr& reduce = tensor.body;
  if (reduce.kind() != Kind::kReduce || reduce.reduce() != kind || reduce.axes().size() != 1 ||
      !reduce.guard().is_true() || index.size() != tensor.axes.size() ||
      !reduce.axes()[0].extent.is_const() || reduce.axes()[0].extent.value() != at.extent.value()) {
    return std::nullopt;
  }
  ExprSubstitution substitution;
  for (size_t i = 0; i < index.size(); ++i) substitution.vars[tensor.axes[i].var] = index[i];
  substitution.vars[reduce.axes()[0].var] = IndexExpr::Var(at.var);
  return Substitute(reduce.args()[0], substitution);
}

// The numbers of the tensors of a form, after its inputs.
enum Part { kScores, kMost, kTotals, kOutput, kNumParts };

class Matcher {
 public:
  Matcher(const Definition& form, int* fresh) : form_(form), fresh_(fresh) {}

  std::optional<StreamedSource> Match(int sum_slot, int score_slot) {
    StreamedSource result;
    result.sum_slot = sum_slot;
    result.score_slot = score_slot;
    const NestSource whole = loops::SplitMixedAxes(
        SimplifiedSource(form_.tensors[kOutput], Id(kOutput), fresh_), fresh_);
    if (loops::IsEmpty(whole)) return std::nullopt;
    FoundContraction found = FindContraction(whole);
    if (!found || found->second.guarded || found->second.k.size() != 1) return std::nullopt;
    loops::ContractionSource& c = found->second;
    if (!Reads(c.a, Id(kTotals))) {
      std::swap(c.a, c.b);
      std::swap(c.m, c.n);
    }
    if (ReadsForm(c.b)) return std::nullopt;
    for (const Axis& axis : whole.axes) simplifier_.SetExtent(axis.var, axis.extent);
    for (const Axis& axis : c.k) simplifier_.SetExtent(axis.var, axis.extent);
    result.batch = c.batch;
    result.m = c.m;
    result.n = c.n;
    result.keys = c.k;
    result.value = c.b;
    std::optional<ScalarExpr> score = ScoreOf(c.a, c.k[0], &result.rounded);
    if (!score || !MatchScores(*score, &result)) return std::nullopt;
    result.source = whole;
    Idx index;
    for (const Axis& axis : whole.axes) index.push_back(IndexExpr::Var(axis.var));
    result.source.body = Replace(whole.body, found->first.node().get(),
                                 ScalarExpr::Read(sum_slot, std::move(index)));
    // The epilogue may not read what is not stored.
    if (ReadsForm(result.source.body)) return std::nullopt;
    return result;
  }

 private:
  TensorId Id(Part part) const { return form_.num_inputs() + static_cast<TensorId>(part); }

  bool ReadsForm(const ScalarExpr& e) const {
    return Reads(e, Id(kScores)) || Reads(e, Id(kMost)) || Reads(e, Id(kTotals));
  }

  bool Equal(const ScalarExpr& a, const ScalarExpr& b) {
    return simplifier_.Simplify(a).ToString() == simplifier_.Simplify(b).ToString();
  }

  // The scores whose softmax over `key` is `factor`.
  std::optional<ScalarExpr> ScoreOf(ScalarExpr factor, const Axis& key,
                                    std::optional<DType>* rounded) {
    if (!StripRoundings(&factor, rounded) || !IsApply(factor, ScalarFn::kDiv)) return std::nullopt;
    const ScalarExpr power = factor.args()[0], total = factor.args()[1];
    if (total.kind() != Kind::kRead || total.tensor() != Id(kTotals) ||
        !IsApply(power, ScalarFn::kExp) || !IsApply(power.args()[0], ScalarFn::kSub)) {
      return std::nullopt;
    }
    const ScalarExpr score = power.args()[0].args()[0], most = power.args()[0].args()[1];
    if (most.kind() != Kind::kRead || most.tensor() != Id(kMost)) return std::nullopt;
    const auto summed = TermOf(form_.tensors[kTotals], ReduceKind::kSum, total.indices(), key);
    const auto compared = TermOf(form_.tensors[kMost], ReduceKind::kMax, most.indices(), key);
    if (!summed || !compared || !Equal(*summed, power) || !Equal(*compared, score)) {
      return std::nullopt;
    }
    // Both must be the same for all keys.
    FreeVars free;
    if (Contains(free.Of(total), key.var) || Contains(free.Of(most), key.var)) return std::nullopt;
    if (Reads(score, Id(kMost)) || Reads(score, Id(kTotals))) return std::nullopt;
    return score;
  }

  // Finds the products that `score` is computed from.
  bool MatchScores(const ScalarExpr& score, StreamedSource* result) {
    const TensorExpr& products = form_.tensors[kScores];
    ExprSubstitution inlined;
    inlined.read = [&](TensorId tensor, Idx indices) {
      if (tensor != Id(kScores)) return ScalarExpr::Read(tensor, std::move(indices));
      ExprSubstitution at;
      at.fresh = fresh_;
      for (size_t i = 0; i < indices.size(); ++i) at.vars[products.axes[i].var] = indices[i];
      return Substitute(products.body, at);
    };
    const ScalarExpr whole = ShareReductions(simplifier_.Simplify(Substitute(score, inlined)));
    const std::vector<ScalarExpr> reductions = OuterReductions(whole);
    if (reductions.size() != 1) return false;
    std::vector<Axis> axes = result->batch;
    for (const auto* more : {&result->m, &result->keys}) {
      axes.insert(axes.end(), more->begin(), more->end());
    }
    auto c = loops::MatchContraction(reductions[0], axes);
    if (!c || c->guarded) return false;
    FreeVars free;
    const auto depends = [&](const ScalarExpr& e, const std::vector<Axis>& on) {
      return std::any_of(on.begin(), on.end(),
                         [&](const Axis& axis) { return Contains(free.Of(e), axis.var); });
    };
    if (depends(c->a, result->keys)) std::swap(c->a, c->b);
    if (depends(c->a, result->keys) || depends(c->b, result->m)) return false;
    result->query = c->a;
    result->key = c->b;
    result->depth = c->k;
    Idx index;
    for (const Axis& axis : axes) index.push_back(IndexExpr::Var(axis.var));
    result->score = Replace(whole, reductions[0].node().get(),
                            ScalarExpr::Read(result->score_slot, std::move(index)));
    // A sum inside a guard is not replaced.
    return !HasReduction(result->score) && !depends(result->score, result->n);
  }

  const Definition& form_;
  int* fresh_;
  Simplifier simplifier_;
};

}  // namespace

std::optional<Definition> StreamedForm(const Definition& definition) {
  if (definition.outputs.size() != 1 || definition.tensors.size() < kNumParts ||
      definition.outputs[0] !=
          definition.num_inputs() + static_cast<TensorId>(definition.tensors.size()) - 1 ||
      !loops::CheckEvaluable(definition).ok()) {
    return std::nullopt;
  }
  std::vector<bool> reduces;
  for (const TensorExpr& tensor : definition.tensors) reduces.push_back(HasReduction(tensor.body));
  if (!reduces.back()) {
    // The outer product is the last local with a reduction; the output computes with it.
    const auto last = std::find(reduces.rbegin(), reduces.rend(), true);
    if (last == reduces.rend()) return std::nullopt;
    *last = false;
  }
  Definition form =
      Inline(definition, [&](TensorId local) { return !reduces[local - definition.num_inputs()]; });
  if (form.tensors.size() != kNumParts) return std::nullopt;
  return form;
}

std::optional<StreamedSource> MatchStreamed(const Definition& form, int sum_slot, int score_slot,
                                            int* fresh) {
  return Matcher(form, fresh).Match(sum_slot, score_slot);
}

}  // namespace lemma::codegen
