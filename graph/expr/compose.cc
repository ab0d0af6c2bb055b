#include "graph/expr/compose.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
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
    case IndexExpr::Kind::kAdd:
      return Apply(e.lhs()) + Apply(e.rhs());
    case IndexExpr::Kind::kMul:
      return Apply(e.lhs()) * Apply(e.rhs());
    case IndexExpr::Kind::kFloorDiv:
      return FloorDiv(Apply(e.lhs()), Apply(e.rhs()));
    case IndexExpr::Kind::kMod:
      return Mod(Apply(e.lhs()), Apply(e.rhs()));
    case IndexExpr::Kind::kMin:
      return Min(Apply(e.lhs()), Apply(e.rhs()));
    case IndexExpr::Kind::kMax:
      return Max(Apply(e.lhs()), Apply(e.rhs()));
  }
  return e;
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

// Marks the tensors `e` reads.
class ReadMarker {
 public:
  explicit ReadMarker(std::vector<bool>* read) : read_(read) {}

  void Visit(const ScalarExpr& e) {
    if (!seen_.insert({e.node().get(), true}).second) return;
    if (e.kind() == ScalarExpr::Kind::kRead) (*read_)[e.tensor()] = true;
    for (const IndexExpr& index : e.indices()) Visit(index);
    for (const ScalarExpr& arg : e.args()) Visit(arg);
    for (const Axis& axis : e.axes()) Visit(axis.extent);
    if (e.kind() == ScalarExpr::Kind::kIndex) Visit(e.index());
    Visit(e.guard());
  }
  void Visit(const IndexExpr& e) {
    if (e.is_const() || e.kind() == IndexExpr::Kind::kVar) return;
    if (e.kind() == IndexExpr::Kind::kLoad) return Visit(ScalarExpr(e.load()));
    if (e.kind() == IndexExpr::Kind::kSymbol) return;
    Visit(e.lhs());
    Visit(e.rhs());
  }
  void Visit(const Guard& g) {
    if (g.is_true() || g.is_false()) return;
    if (g.kind() == Guard::Kind::kLe || g.kind() == Guard::Kind::kEq) {
      Visit(g.lhs());
      return Visit(g.rhs());
    }
    Visit(g.left());
    if (g.kind() != Guard::Kind::kNot) Visit(g.right());
  }

 private:
  std::vector<bool>* read_;
  absl::flat_hash_map<const ScalarNode*, bool> seen_;
};

// Removes locals that neither a kept tensor nor the outputs need.
Definition DropUnread(const Definition& d) {
  int n = d.num_inputs();
  std::vector<bool> needed(n + d.tensors.size(), false);
  for (TensorId id : d.outputs) needed[id] = true;
  for (int i = static_cast<int>(d.tensors.size()) - 1; i >= 0; --i) {
    if (needed[n + i]) ReadMarker(&needed).Visit(d.tensors[i].body);
  }
  Definition result;
  result.inputs = d.inputs;
  result.num_vars = d.num_vars;
  std::vector<TensorId> moved(needed.size(), -1);
  for (int i = 0; i < n; ++i) moved[i] = i;
  ExprSubstitution renumber;
  renumber.read = [&moved](TensorId tensor, Idx indices) {
    return ScalarExpr::Read(moved[tensor], std::move(indices));
  };
  for (size_t i = 0; i < d.tensors.size(); ++i) {
    if (!needed[n + i]) continue;
    moved[n + i] = n + static_cast<TensorId>(result.tensors.size());
    result.tensors.push_back(d.tensors[i]);
    result.tensors.back().body = Substitute(d.tensors[i].body, renumber);
  }
  for (TensorId id : d.outputs) result.outputs.push_back(moved[id]);
  return result;
}

// The tensor that `id` is, element by element.
TensorExpr CopyOf(Definition* d, TensorId id) {
  ExprType type = d->TypeOf(id);
  TensorExpr copy;
  copy.dtype = type.dtype;
  Idx indices;
  for (const IndexExpr& dim : type.dims) {
    copy.axes.push_back({d->num_vars, dim});
    indices.push_back(IndexExpr::Var(d->num_vars++));
  }
  copy.body = ScalarExpr::Read(id, std::move(indices));
  return copy;
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

absl::StatusOr<Definition> Chain(absl::Span<const ExprType> inputs,
                                 absl::Span<const ComposeStep> steps,
                                 absl::Span<const Source> outputs) {
  Definition result;
  result.inputs.assign(inputs.begin(), inputs.end());
  std::vector<std::vector<TensorId>> produced(steps.size());
  auto resolve = [&](const Source& source, size_t before) -> absl::StatusOr<TensorId> {
    int count = source.step < 0                             ? result.num_inputs()
                : static_cast<size_t>(source.step) < before ? produced[source.step].size()
                                                            : 0;
    if (source.index < 0 || source.index >= count) {
      return absl::InvalidArgumentError(
          absl::StrCat("no output ", source.index, " of step ", source.step, " to read from"));
    }
    return source.step < 0 ? source.index : produced[source.step][source.index];
  };
  for (size_t s = 0; s < steps.size(); ++s) {
    const Definition& d = *steps[s].definition;
    if (steps[s].inputs.size() != d.inputs.size()) {
      return absl::InvalidArgumentError(absl::StrCat("step ", s, " has ", d.inputs.size(),
                                                     " inputs, not ", steps[s].inputs.size()));
    }
    std::vector<TensorId> moved;
    for (size_t i = 0; i < d.inputs.size(); ++i) {
      absl::StatusOr<TensorId> id = resolve(steps[s].inputs[i], s);
      if (!id.ok()) return id.status();
      if (result.TypeOf(*id).rank() != d.inputs[i].rank()) {
        return absl::InvalidArgumentError(absl::StrCat("input ", i, " of step ", s, " has rank ",
                                                       d.inputs[i].rank(), ", not ",
                                                       result.TypeOf(*id).rank()));
      }
      moved.push_back(*id);
    }
    ExprSubstitution shift;
    for (VarId v = 0; v < d.num_vars; ++v) shift.vars[v] = IndexExpr::Var(result.num_vars + v);
    shift.read = [&moved](TensorId tensor, Idx indices) {
      return ScalarExpr::Read(moved[tensor], std::move(indices));
    };
    for (const TensorExpr& tensor : d.tensors) {
      moved.push_back(result.num_inputs() + static_cast<TensorId>(result.tensors.size()));
      TensorExpr copy{tensor.dtype, {}, Substitute(tensor.body, shift)};
      for (const Axis& axis : tensor.axes) {
        copy.axes.push_back({result.num_vars + axis.var, Substitute(axis.extent, shift)});
      }
      result.tensors.push_back(std::move(copy));
    }
    result.num_vars += d.num_vars;
    for (TensorId id : d.outputs) produced[s].push_back(moved[id]);
  }
  for (const Source& source : outputs) {
    absl::StatusOr<TensorId> id = resolve(source, steps.size());
    if (!id.ok()) return id.status();
    bool repeated = std::count(result.outputs.begin(), result.outputs.end(), *id) > 0;
    if (repeated || *id < result.num_inputs()) {
      TensorExpr copy = CopyOf(&result, *id);
      *id = result.num_inputs() + static_cast<TensorId>(result.tensors.size());
      result.tensors.push_back(std::move(copy));
    }
    result.outputs.push_back(*id);
  }
  return DropUnread(result);
}

Definition Inline(const Definition& definition, const std::function<bool(TensorId)>& which) {
  Definition d = definition;
  int n = d.num_inputs();
  auto inlined = [&](TensorId id) {
    return id >= n && std::count(d.outputs.begin(), d.outputs.end(), id) == 0 &&
           (which == nullptr || which(id));
  };
  for (TensorExpr& tensor : d.tensors) {
    // Reads of the same element of a local become one shared subterm.
    std::vector<std::pair<std::pair<TensorId, Idx>, ScalarExpr>> done;
    ExprSubstitution outer;
    outer.read = [&](TensorId id, Idx indices) {
      if (!inlined(id)) return ScalarExpr::Read(id, std::move(indices));
      for (const auto& [read, body] : done) {
        if (read.first == id && std::equal(indices.begin(), indices.end(), read.second.begin(),
                                           read.second.end(), Identical)) {
          return body;
        }
      }
      const TensorExpr& local = d.tensors[id - n];
      ExprSubstitution inner;
      inner.fresh = &d.num_vars;
      for (size_t i = 0; i < indices.size(); ++i) inner.vars[local.axes[i].var] = indices[i];
      ScalarExpr body = Substitute(local.body, inner);
      done.push_back({{id, std::move(indices)}, body});
      return body;
    };
    tensor.body = Substitute(tensor.body, outer);
  }
  return DropUnread(d);
}

absl::StatusOr<Definition> Chain(const Definition& producer, const Definition& consumer,
                                 absl::Span<const std::optional<int>> feeds) {
  if (feeds.size() != consumer.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the consumer has ", consumer.inputs.size(), " inputs, not ", feeds.size()));
  }
  std::vector<ExprType> inputs = producer.inputs;
  ComposeStep first{&producer, {}}, second{&consumer, {}};
  for (int i = 0; i < producer.num_inputs(); ++i) first.inputs.push_back({-1, i});
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (feeds[i]) {
      second.inputs.push_back({0, *feeds[i]});
    } else {
      second.inputs.push_back({-1, static_cast<int>(inputs.size())});
      inputs.push_back(consumer.inputs[i]);
    }
  }
  std::vector<Source> outputs;
  for (size_t i = 0; i < consumer.outputs.size(); ++i) outputs.push_back({1, static_cast<int>(i)});
  return Chain(inputs, {first, second}, outputs);
}

Definition Bind(const Definition& definition,
                const absl::flat_hash_map<std::string, int64_t>& symbols,
                const absl::flat_hash_map<std::string, double>& params) {
  ExprSubstitution s;
  for (const auto& [name, value] : symbols) s.symbols[name] = value;
  for (const auto& [name, value] : params) s.params[name] = value;
  Definition d = definition;
  for (ExprType& input : d.inputs) {
    for (IndexExpr& dim : input.dims) dim = Substitute(dim, s);
  }
  for (TensorExpr& tensor : d.tensors) {
    for (Axis& axis : tensor.axes) axis.extent = Substitute(axis.extent, s);
    tensor.body = Substitute(tensor.body, s);
  }
  return d;
}

}  // namespace lemma
