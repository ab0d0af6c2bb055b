#include "graph/expr/compose.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// Marks the tensors that `e` reads.
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

// Removes locals that neither the outputs nor a kept tensor need; also from *of_tensors, if given.
Definition DropUnread(const Definition& d, std::vector<int>* of_tensors = nullptr) {
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
  std::vector<int> kept;
  for (size_t i = 0; i < d.tensors.size(); ++i) {
    if (!needed[n + i]) continue;
    if (of_tensors != nullptr) kept.push_back((*of_tensors)[i]);
    moved[n + i] = n + static_cast<TensorId>(result.tensors.size());
    result.tensors.push_back(d.tensors[i]);
    result.tensors.back().body = Substitute(d.tensors[i].body, renumber);
  }
  for (TensorId id : d.outputs) result.outputs.push_back(moved[id]);
  if (of_tensors != nullptr) *of_tensors = std::move(kept);
  return result;
}

// A copy of tensor `id`, element by element.
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

// Builds the composition of steps, one after the other.
class Chainer {
 public:
  explicit Chainer(absl::Span<const ExprType> inputs) {
    result_.inputs.assign(inputs.begin(), inputs.end());
  }

  absl::Status Add(const ComposeStep& step);
  absl::Status AddOutput(const Source& source);
  Definition Take(std::vector<int>* steps) {
    Definition taken = DropUnread(result_, &steps_);
    if (steps != nullptr) *steps = std::move(steps_);
    return taken;
  }

 private:
  absl::StatusOr<TensorId> Resolve(const Source& source) const;
  std::string NextStep() const { return absl::StrCat("step ", produced_.size()); }
  void Append(const Definition& d, std::vector<TensorId> moved);

  Definition result_;
  std::vector<int> steps_;                       // the step of each tensor
  std::vector<std::vector<TensorId>> produced_;  // the outputs of each step
};

absl::StatusOr<TensorId> Chainer::Resolve(const Source& source) const {
  const int steps = static_cast<int>(produced_.size());
  const int count = source.step < 0       ? result_.num_inputs()
                    : source.step < steps ? static_cast<int>(produced_[source.step].size())
                                          : 0;
  if (source.index < 0 || source.index >= count) {
    return absl::InvalidArgumentError(
        absl::StrCat("no output ", source.index, " of step ", source.step, " to read from"));
  }
  return source.step < 0 ? source.index : produced_[source.step][source.index];
}

absl::Status Chainer::Add(const ComposeStep& step) {
  const Definition& d = *step.definition;
  if (step.inputs.size() != d.inputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(NextStep(), " has ", d.inputs.size(), " inputs, not ", step.inputs.size()));
  }
  std::vector<TensorId> moved;
  for (size_t i = 0; i < d.inputs.size(); ++i) {
    absl::StatusOr<TensorId> id = Resolve(step.inputs[i]);
    if (!id.ok()) return id.status();
    if (result_.TypeOf(*id).rank() != d.inputs[i].rank()) {
      return absl::InvalidArgumentError(absl::StrCat("input ", i, " of ", NextStep(), " has rank ",
                                                     d.inputs[i].rank(), ", not ",
                                                     result_.TypeOf(*id).rank()));
    }
    moved.push_back(*id);
  }
  Append(d, std::move(moved));
  return absl::OkStatus();
}

// Appends the tensors of `d`; `moved` are the tensors that serve as its inputs.
void Chainer::Append(const Definition& d, std::vector<TensorId> moved) {
  ExprSubstitution shift;
  for (VarId v = 0; v < d.num_vars; ++v) shift.vars[v] = IndexExpr::Var(result_.num_vars + v);
  shift.read = [&moved](TensorId tensor, Idx indices) {
    return ScalarExpr::Read(moved[tensor], std::move(indices));
  };
  for (const TensorExpr& tensor : d.tensors) {
    steps_.push_back(static_cast<int>(produced_.size()));
    moved.push_back(result_.num_inputs() + static_cast<TensorId>(result_.tensors.size()));
    TensorExpr copy{tensor.dtype, {}, Substitute(tensor.body, shift)};
    for (const Axis& axis : tensor.axes) {
      copy.axes.push_back({result_.num_vars + axis.var, Substitute(axis.extent, shift)});
    }
    result_.tensors.push_back(std::move(copy));
  }
  result_.num_vars += d.num_vars;
  produced_.emplace_back();
  for (TensorId id : d.outputs) produced_.back().push_back(moved[id]);
}

absl::Status Chainer::AddOutput(const Source& source) {
  absl::StatusOr<TensorId> id = Resolve(source);
  if (!id.ok()) return id.status();
  const bool repeated = std::count(result_.outputs.begin(), result_.outputs.end(), *id) > 0;
  if (repeated || *id < result_.num_inputs()) {
    TensorExpr copy = CopyOf(&result_, *id);
    *id = result_.num_inputs() + static_cast<TensorId>(result_.tensors.size());
    result_.tensors.push_back(std::move(copy));
    steps_.push_back(static_cast<int>(produced_.size()));
  }
  result_.outputs.push_back(*id);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Definition> Chain(absl::Span<const ExprType> inputs,
                                 absl::Span<const ComposeStep> steps,
                                 absl::Span<const Source> outputs, std::vector<int>* made_by) {
  Chainer chainer(inputs);
  for (const ComposeStep& step : steps) {
    if (absl::Status status = chainer.Add(step); !status.ok()) return status;
  }
  for (const Source& source : outputs) {
    if (absl::Status status = chainer.AddOutput(source); !status.ok()) return status;
  }
  return chainer.Take(made_by);
}

Definition Inline(const Definition& definition, const std::function<bool(TensorId)>& which) {
  Definition d = definition;
  int n = d.num_inputs();
  auto inlined = [&](TensorId id) {
    return id >= n && std::count(d.outputs.begin(), d.outputs.end(), id) == 0 &&
           (which == nullptr || which(id));
  };
  for (TensorExpr& tensor : d.tensors) {
    // Merges reads of the same element of a local into one shared subterm.
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
