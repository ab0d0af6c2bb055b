#include "graph/define/adjoint.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/status_macros.h"
#include "graph/define/linear.h"
#include "graph/define/scalar_names.h"
#include "graph/expr/derivatives.h"
#include "graph/expr/free_vars.h"
#include "graph/expr/substitute.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::define {
namespace {

// A scalar expression, or nothing, which stands for zero.
using Flow = std::optional<ScalarExpr>;

// The formulas of the table of derivatives, as scalar expressions.
struct ScalarFormula {
  static Flow Op(const std::string& name, std::vector<Flow> operands) {
    std::vector<ScalarExpr> args;
    for (const Flow& operand : operands) {
      if (!operand) return std::nullopt;
      args.push_back(*operand);
    }
    return ScalarExpr::Apply(*FunctionOf(name), std::move(args));
  }
  static std::optional<double> Uniform(const Flow& x) {
    if (x && x->kind() == ScalarExpr::Kind::kConst) return x->value();
    return std::nullopt;
  }
  static Flow Add(const Flow& a, const Flow& b) { return a && b ? Flow(*a + *b) : a ? a : b; }
  static Flow Sub(const Flow& a, const Flow& b) { return a && b ? Flow(*a - *b) : b ? Neg(b) : a; }
  static Flow Mul(const Flow& a, const Flow& b) {
    if (!a || !b) return std::nullopt;
    if (Uniform(a) == 1.0) return b;
    if (Uniform(b) == 1.0) return a;
    return *a * *b;
  }
  static Flow Div(const Flow& a, const Flow& b) {
    if (!a || !b) return std::nullopt;
    return Uniform(b) == 1.0 ? a : Flow(*a / *b);
  }
  static Flow Neg(const Flow& a) { return a ? Flow(-*a) : a; }
  static Flow Add(const Flow& a, double b) { return Add(a, Flow(b)); }
  static Flow Mul(const Flow& a, double b) { return Mul(a, Flow(b)); }
  static Flow Square(const Flow& a) { return Mul(a, a); }
  static Flow Where(const Flow& test, const Flow& a, const Flow& b) {
    if (!a && !b) return std::nullopt;
    return Apply(ScalarFn::kWhere, test.value_or(0), a.value_or(0), b.value_or(0));
  }
};

// A sum over `axes` where `where` holds that is added to the gradient at `index`.
struct Contribution {
  Idx index;
  std::vector<Axis> axes;
  Guard where;
  ScalarExpr value;
};

class Builder : private Derivatives<Builder, ScalarFormula, Flow> {
 public:
  Builder(const Definition& forward, TensorId input) : Derivatives(formula_), input_(input) {
    const int given = forward.num_inputs();
    definition_.inputs = forward.inputs;
    for (TensorId output : forward.outputs) {
      const ExprType type = forward.TypeOf(output);
      if (!IsFloat(type.dtype)) continue;
      seeds_[output] = definition_.num_inputs();
      definition_.inputs.push_back(type);
    }
    const int shift = definition_.num_inputs() - given;
    ExprSubstitution shifted;
    shifted.read = [&](TensorId tensor, Idx indices) {
      return ScalarExpr::Read(tensor < given ? tensor : tensor + shift, std::move(indices));
    };
    definition_.tensors = forward.tensors;
    for (TensorExpr& tensor : definition_.tensors) tensor.body = Substitute(tensor.body, shifted);
    std::map<TensorId, TensorId> seeds;
    for (const auto& [output, seed] : seeds_) seeds[output + shift] = seed;
    seeds_ = std::move(seeds);
    definition_.num_vars = forward.num_vars;
    num_forward_ = static_cast<int>(definition_.tensors.size());
  }

  absl::StatusOr<std::optional<Definition>> Run() {
    for (int t = num_forward_ - 1; t >= 0; --t) {
      LEMMA_RETURN_IF_ERROR(AddGradient(definition_.num_inputs() + t));
    }
    LEMMA_RETURN_IF_ERROR(AddGradient(input_));
    auto gradient = gradients_.find(input_);
    if (gradient == gradients_.end()) return std::nullopt;
    definition_.outputs = {gradient->second};
    Prune();
    return std::move(definition_);
  }

 private:
  friend Derivatives;

  const TensorExpr& Tensor(TensorId id) const {
    return definition_.tensors[id - definition_.num_inputs()];
  }
  int NewVar() { return definition_.num_vars++; }
  static Idx IndexOf(const std::vector<Axis>& axes) {
    Idx index;
    for (const Axis& axis : axes) index.push_back(IndexExpr::Var(axis.var));
    return index;
  }
  TensorId AddTensor(TensorExpr tensor) {
    definition_.tensors.push_back(std::move(tensor));
    return definition_.num_inputs() + static_cast<TensorId>(definition_.tensors.size()) - 1;
  }

  // ---- For Derivatives ----

  Flow ValueOf(const ScalarExpr& e) {
    if (IsResult(e)) return ScalarExpr::Read(reader_, IndexOf(Tensor(reader_).axes));
    return WithFreshBounds(e);
  }
  static Flow Number(const Flow&, double number) { return ScalarExpr(number); }
  static Flow One() { return ScalarExpr(1); }
  bool IsResult(const ScalarExpr& e) const { return e.node() == Tensor(reader_).body.node(); }

  // The same with other variables for its reductions.
  ScalarExpr WithFreshBounds(const ScalarExpr& e) {
    ExprSubstitution fresh;
    fresh.fresh = &definition_.num_vars;
    return Substitute(e, fresh);
  }

  // ---- One tensor ----

  // Adds the gradient of the tensor, if any result depends on it. Those of its readers exist.
  absl::Status AddGradient(TensorId tensor) {
    const ExprType type = definition_.TypeOf(tensor);
    if (!IsFloat(type.dtype)) return absl::OkStatus();
    target_ = tensor;
    contributions_.clear();
    mentions_.clear();
    for (int t = 0; t < num_forward_; ++t) {
      reader_ = definition_.num_inputs() + t;
      auto gradient = gradients_.find(reader_);
      if (gradient == gradients_.end() || reader_ <= tensor) continue;
      const std::vector<Axis> axes = Tensor(reader_).axes;
      const ScalarExpr body = Tensor(reader_).body;
      LEMMA_RETURN_IF_ERROR(
          Visit(body, ScalarExpr::Read(gradient->second, IndexOf(axes)), axes, true));
    }
    auto seed = seeds_.find(tensor);
    if (contributions_.empty() && seed == seeds_.end()) return absl::OkStatus();
    TensorExpr sum;
    sum.dtype = type.dtype;
    for (const IndexExpr& dim : type.dims) sum.axes.push_back({NewVar(), dim});
    Flow total;
    if (seed != seeds_.end()) total = ScalarExpr::Read(seed->second, IndexOf(sum.axes));
    for (const Contribution& contribution : contributions_) {
      total = ScalarFormula::Add(total, Sum(contribution, sum.axes));
    }
    sum.body = *total;
    gradients_[tensor] = AddTensor(std::move(sum));
    return absl::OkStatus();
  }

  // Whether `e` reads the target.
  bool Mentions(const ScalarExpr& e) {
    auto it = mentions_.find(e.node().get());
    if (it != mentions_.end()) return it->second;
    bool found = e.kind() == ScalarExpr::Kind::kRead && e.tensor() == target_;
    if (e.kind() == ScalarExpr::Kind::kApply || e.kind() == ScalarExpr::Kind::kSelect ||
        e.kind() == ScalarExpr::Kind::kReduce) {
      for (const ScalarExpr& arg : e.args()) found = Mentions(arg) || found;
    }
    return mentions_[e.node().get()] = found;
  }

  // Adds the contributions of `e`, whose gradient is `flow` for all values of the axes where
  // `where` holds.
  absl::Status Visit(const ScalarExpr& e, const ScalarExpr& flow, const std::vector<Axis>& axes,
                     const Guard& where) {
    if (!Mentions(e) || where.is_false()) return absl::OkStatus();
    switch (e.kind()) {
      case ScalarExpr::Kind::kRead:
        contributions_.push_back({e.indices(), axes, where, flow});
        return absl::OkStatus();
      case ScalarExpr::Kind::kApply:
        if (e.fn() == ScalarFn::kWhere) return VisitChoice(e, flow, axes, where);
        for (size_t i = 0; i < e.args().size(); ++i) {
          if (!Mentions(e.args()[i])) continue;
          Flow flows[3];
          flows[i] = flow;
          const Flow inner = OfRow(e, flows[0], flows[1], flows[2]);
          if (inner) LEMMA_RETURN_IF_ERROR(Visit(e.args()[i], *inner, axes, where));
        }
        return absl::OkStatus();
      case ScalarExpr::Kind::kSelect:
        LEMMA_RETURN_IF_ERROR(Visit(e.args()[0], flow, axes, where && e.guard()));
        return Visit(e.args()[1], flow, axes, where && !e.guard());
      case ScalarExpr::Kind::kReduce:
        break;
      default:
        return absl::OkStatus();
    }
    std::vector<Axis> all = axes;
    all.insert(all.end(), e.axes().begin(), e.axes().end());
    ScalarExpr inner = flow;
    if (e.reduce() == ReduceKind::kProd) {
      inner = flow * Others(e);
    } else if (e.reduce() != ReduceKind::kSum) {
      if (!IsResult(e)) {
        return absl::UnimplementedError(
            "a maximum or minimum over elements inside an expression has no gradient; define it as "
            "a tensor of its own");
      }
      inner = ShareOfExtreme(e, flow);
    }
    return Visit(e.args()[0], inner, all, where && e.guard());
  }

  // Contributions of the operand that is not chosen are 0, even where its derivative is infinite or
  // no number.
  absl::Status VisitChoice(const ScalarExpr& e, const ScalarExpr& flow,
                           const std::vector<Axis>& axes, const Guard& where) {
    for (const size_t side : {1, 2}) {
      size_t next = contributions_.size();
      LEMMA_RETURN_IF_ERROR(Visit(e.args()[side], flow, axes, where));
      for (; next < contributions_.size(); ++next) {
        ScalarExpr& value = contributions_[next].value;
        const ScalarExpr test = WithFreshBounds(e.args()[0]);
        value = side == 1 ? Apply(ScalarFn::kWhere, test, value, 0)
                          : Apply(ScalarFn::kWhere, test, 0, value);
      }
    }
    return absl::OkStatus();
  }

  // The product of all elements but the one at the reduction's own variables.
  ScalarExpr Others(const ScalarExpr& product) {
    ExprSubstitution renamed;
    renamed.fresh = &definition_.num_vars;
    std::vector<Axis> axes;
    Guard same = true;
    for (const Axis& axis : product.axes()) {
      const IndexExpr extent = Substitute(axis.extent, renamed);
      const IndexExpr var = IndexExpr::Var(NewVar());
      same = same && Eq(var, IndexExpr::Var(axis.var));
      renamed.vars[axis.var] = var;
      axes.push_back({var.var(), extent});
    }
    return ScalarExpr::Reduce(ReduceKind::kProd, std::move(axes),
                              Substitute(product.guard(), renamed) && !same,
                              Substitute(product.args()[0], renamed));
  }

  // The part of `flow` that an element of a maximum or minimum gets: elements that attain it share.
  // `e` is the whole element of the reader.
  ScalarExpr ShareOfExtreme(const ScalarExpr& e, const ScalarExpr& flow) {
    const std::vector<Axis>& axes = Tensor(reader_).axes;
    const ScalarExpr extreme = ScalarExpr::Read(reader_, IndexOf(axes));
    auto [entry, is_new] = counts_.emplace(reader_, -1);
    if (is_new) {
      TensorExpr count;
      count.dtype = Tensor(reader_).dtype;
      ExprSubstitution renamed;
      renamed.fresh = &definition_.num_vars;
      for (const Axis& axis : axes) {
        const IndexExpr extent = Substitute(axis.extent, renamed);
        const IndexExpr var = IndexExpr::Var(NewVar());
        renamed.vars[axis.var] = var;
        count.axes.push_back({var.var(), extent});
      }
      count.body = Substitute(ScalarExpr::Reduce(ReduceKind::kSum, e.axes(), e.guard(),
                                                 Apply(ScalarFn::kEqual, e.args()[0], extreme)),
                              renamed);
      entry->second = AddTensor(std::move(count));
    }
    const ScalarExpr attains = Apply(ScalarFn::kEqual, WithFreshBounds(e.args()[0]), extreme);
    const ScalarExpr count = ScalarExpr::Read(entry->second, IndexOf(Tensor(reader_).axes));
    return Apply(ScalarFn::kWhere, attains, flow / count, 0);
  }

  // The contribution to the element at the variables of `at`.
  ScalarExpr Sum(Contribution c, const std::vector<Axis>& at) {
    std::vector<bool> solved(at.size(), false);
    for (const bool plain : {true, false}) {
      for (size_t d = 0; d < at.size(); ++d) {
        if (!solved[d]) solved[d] = Solve(&c, d, at[d], plain);
      }
    }
    for (size_t d = 0; d < at.size(); ++d) {
      if (!solved[d]) c.where = c.where && Eq(c.index[d], IndexExpr::Var(at[d].var));
    }
    return WithFreshBounds(c.axes.empty()
                               ? ScalarExpr::Select(c.where, c.value, 0)
                               : ScalarExpr::Reduce(ReduceKind::kSum, c.axes, c.where, c.value));
  }

  // Replaces a variable of the sum by the solution of index[d] = p, if there is one. `plain`: only
  // where the index is the variable itself.
  bool Solve(Contribution* c, size_t d, const Axis& p, bool plain) {
    for (size_t v = 0; v < c->axes.size(); ++v) {
      const Axis axis = c->axes[v];
      const bool used = std::any_of(c->axes.begin(), c->axes.end(), [&](const Axis& other) {
        return Contains(FreeVars().Of(other.extent), axis.var);
      });
      if (used || !FreeVars().Of(axis.extent).empty()) continue;
      const auto linear = LinearIn(c->index[d], axis.var);
      if (!linear) continue;
      const auto factor = linear->factor.AsConst();
      const bool itself = factor == 1 && linear->rest.AsConst() == 0;
      if (plain ? !itself : factor != 1 && factor != -1) continue;
      const IndexExpr difference = IndexExpr::Var(p.var) - linear->rest;
      const IndexExpr solution = *factor == 1 ? difference : -difference;
      ExprSubstitution substitution;
      substitution.vars[axis.var] = solution;
      c->axes.erase(c->axes.begin() + static_cast<std::ptrdiff_t>(v));
      for (IndexExpr& index : c->index) index = Substitute(index, substitution);
      c->where = Substitute(c->where, substitution);
      if (!itself || !AreEqual(axis.extent, p.extent)) {
        c->where = InRange(solution, axis.extent) && c->where;
      }
      c->value = Substitute(c->value, substitution);
      return true;
    }
    return false;
  }

  // ---- The result ----

  void CollectReads(const IndexExpr& e, std::vector<bool>* used) {
    if (e.is_const()) return;
    if (e.kind() == IndexExpr::Kind::kLoad) return CollectReads(ScalarExpr(e.load()), used);
    if (e.kind() == IndexExpr::Kind::kSymbol || e.kind() == IndexExpr::Kind::kVar) return;
    CollectReads(e.lhs(), used);
    CollectReads(e.rhs(), used);
  }
  void CollectReads(const Guard& g, std::vector<bool>* used) {
    switch (g.kind()) {
      case Guard::Kind::kLe:
      case Guard::Kind::kEq:
        CollectReads(g.lhs(), used);
        CollectReads(g.rhs(), used);
        return;
      case Guard::Kind::kAnd:
      case Guard::Kind::kOr:
        CollectReads(g.left(), used);
        CollectReads(g.right(), used);
        return;
      case Guard::Kind::kNot:
        CollectReads(g.left(), used);
        return;
      default:
        return;
    }
  }
  void CollectReads(const ScalarExpr& e, std::vector<bool>* used) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kRead:
        if (e.tensor() >= definition_.num_inputs()) {
          (*used)[e.tensor() - definition_.num_inputs()] = true;
        }
        for (const IndexExpr& index : e.indices()) CollectReads(index, used);
        return;
      case ScalarExpr::Kind::kIndex:
        return CollectReads(e.index(), used);
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
        return;
      default:
        break;
    }
    if (e.kind() != ScalarExpr::Kind::kApply) CollectReads(e.guard(), used);
    if (e.kind() == ScalarExpr::Kind::kReduce) {
      for (const Axis& axis : e.axes()) CollectReads(axis.extent, used);
    }
    for (const ScalarExpr& arg : e.args()) CollectReads(arg, used);
  }

  // Drops tensors that the result does not need.
  void Prune() {
    const int inputs = definition_.num_inputs();
    std::vector<bool> used(definition_.tensors.size(), false);
    used[definition_.outputs[0] - inputs] = true;
    for (int t = static_cast<int>(used.size()) - 1; t >= 0; --t) {
      if (used[t]) CollectReads(definition_.tensors[t].body, &used);
    }
    std::vector<TensorId> renumbered(used.size(), -1);
    std::vector<TensorExpr> kept;
    ExprSubstitution substitution;
    substitution.read = [&](TensorId tensor, Idx indices) {
      return ScalarExpr::Read(tensor < inputs ? tensor : renumbered[tensor - inputs],
                              std::move(indices));
    };
    for (size_t t = 0; t < used.size(); ++t) {
      if (!used[t]) continue;
      renumbered[t] = inputs + static_cast<TensorId>(kept.size());
      kept.push_back(definition_.tensors[t]);
      kept.back().body = Substitute(kept.back().body, substitution);
    }
    definition_.outputs[0] = renumbered[definition_.outputs[0] - inputs];
    definition_.tensors = std::move(kept);
  }

  ScalarFormula formula_;
  const TensorId input_;
  Definition definition_;
  int num_forward_ = 0;
  std::map<TensorId, TensorId> seeds_;      // the inputs with the gradients of the results
  std::map<TensorId, TensorId> gradients_;  // of tensors of the definition
  std::map<TensorId, TensorId> counts_;     // how many elements attain a maximum or minimum
  TensorId target_ = -1, reader_ = -1;
  std::vector<Contribution> contributions_;
  absl::flat_hash_map<const ScalarNode*, bool> mentions_;
};

}  // namespace

absl::StatusOr<std::optional<Definition>> Adjoint(const Definition& forward, TensorId input) {
  return Builder(forward, input).Run();
}

}  // namespace lemma::define
