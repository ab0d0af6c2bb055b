#include "runtime/cpu/blocks/carried_dims.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "graph/expr/compose.h"
#include "graph/expr/free_vars.h"

namespace lemma::cpu {
namespace {

// Where the body of a definition reads its inputs.
class Reads {
 public:
  explicit Reads(const ScalarExpr& body) { Visit(body); }

  // The dimension of `input` at which all reads have exactly the index `var`; -1 if none mentions
  // it; nullopt in other cases.
  std::optional<int> DimensionOf(VarId var, TensorId input) {
    std::optional<int> dim;
    for (const ScalarExpr* read : reads_) {
      if (read->tensor() != input) continue;
      int here = -1;
      for (size_t d = 0; d < read->indices().size(); ++d) {
        const IndexExpr& index = read->indices()[d];
        // Where a value decides the index, all of the dimension is needed.
        if (!ContainsBesideLoads(index, var)) continue;
        if (index.kind() != IndexExpr::Kind::kVar || here >= 0) return std::nullopt;
        here = static_cast<int>(d);
      }
      if (dim && *dim != here) return std::nullopt;
      dim = here;
    }
    return dim.value_or(-1);
  }

  // Whether the body uses `var` only as an index of reads.
  bool OnlyIndexes(VarId var) const { return elsewhere_.count(var) == 0; }

  bool has_reduction() const { return has_reduction_; }
  bool ReadsInside(TensorId input) const { return inside_.count(input) > 0; }

  // Whether some input is read both inside and outside a reduction.
  bool ReadsBesideReduction() const {
    return std::any_of(inside_.begin(), inside_.end(),
                       [&](TensorId t) { return outside_.count(t) > 0; });
  }

 private:
  void AddElsewhere(const VarSet& vars) { elsewhere_.insert(vars.begin(), vars.end()); }

  static bool ContainsBesideLoads(const IndexExpr& e, VarId var) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kLoad:
        return false;
      case IndexExpr::Kind::kVar:
        return e.var() == var;
      default:
        return ContainsBesideLoads(e.lhs(), var) || ContainsBesideLoads(e.rhs(), var);
    }
  }

  // A value that decides an index is read too.
  void VisitIndex(const IndexExpr& e) {
    switch (e.kind()) {
      case IndexExpr::Kind::kConst:
      case IndexExpr::Kind::kSymbol:
      case IndexExpr::Kind::kVar:
        return;
      case IndexExpr::Kind::kLoad:
        loaded_.push_back(ScalarExpr(e.load()));
        Visit(loaded_.back());
        return;
      default:
        VisitIndex(e.lhs());
        VisitIndex(e.rhs());
    }
  }

  void Visit(const ScalarExpr& e) {
    switch (e.kind()) {
      case ScalarExpr::Kind::kConst:
      case ScalarExpr::Kind::kParam:
        return;
      case ScalarExpr::Kind::kIndex:
        AddElsewhere(free_.Of(e.index()));
        return;
      case ScalarExpr::Kind::kRead:
        reads_.push_back(&e);
        (depth_ > 0 ? inside_ : outside_).insert(e.tensor());
        for (const IndexExpr& index : e.indices()) VisitIndex(index);
        return;
      case ScalarExpr::Kind::kSelect:
      case ScalarExpr::Kind::kApply:
      case ScalarExpr::Kind::kReduce:
        break;
    }
    if (e.kind() != ScalarExpr::Kind::kApply) AddElsewhere(free_.Of(e.guard()));
    const bool reduces = e.kind() == ScalarExpr::Kind::kReduce;
    if (reduces) {
      for (const Axis& axis : e.axes()) AddElsewhere(free_.Of(axis.extent));
      ++depth_;
      has_reduction_ = true;
    }
    for (const ScalarExpr& arg : e.args()) Visit(arg);
    if (reduces) --depth_;
  }

  FreeVars free_;
  std::vector<const ScalarExpr*> reads_;
  std::deque<ScalarExpr> loaded_;  // owns what loads hold, so that pointers to reads stay valid
  std::set<VarId> elsewhere_;
  std::set<TensorId> inside_, outside_;
  int depth_ = 0;
  bool has_reduction_ = false;
};

}  // namespace

std::optional<Definition> InlinedDefinition(const Node& node) {
  if (!node.is_op() || node.num_outputs() != 1) return std::nullopt;
  absl::StatusOr<Definition> definition = DefinitionOf(node);
  if (!definition.ok()) return std::nullopt;
  Definition inlined = Inline(*definition);
  if (inlined.tensors.size() != 1) return std::nullopt;
  return inlined;
}

CarriedDims CarriedDimsOf(const Node& node) {
  const std::optional<Definition> definition = InlinedDefinition(node);
  if (!definition) return {};
  const TensorExpr& tensor = definition->tensors[0];
  Reads reads(tensor.body);
  CarriedDims carried(tensor.axes.size());
  for (size_t d = 0; d < carried.size(); ++d) {
    const VarId var = tensor.axes[d].var;
    if (!reads.OnlyIndexes(var)) continue;
    std::vector<int> dims;
    for (TensorId input = 0; input < definition->num_inputs(); ++input) {
      const std::optional<int> dim = reads.DimensionOf(var, input);
      if (!dim) break;
      // A part of the input must have the same indices.
      const std::optional<int64_t> extent = tensor.axes[d].extent.AsConst();
      if (*dim >= 0 && (!extent || definition->inputs[input].dims[*dim].AsConst() != extent)) break;
      dims.push_back(*dim);
    }
    if (static_cast<int>(dims.size()) == definition->num_inputs()) carried[d] = std::move(dims);
  }
  return carried;
}

std::vector<SummedDim> SummedDimsOf(const Node& node) {
  const std::optional<Definition> definition = InlinedDefinition(node);
  if (!definition) return {};
  const DType dtype = node.type(0).dtype;
  if (dtype != DType::kF32 && dtype != DType::kF64 && !IsInteger(dtype)) return {};
  // A part of a sum of reals would be rounded to an integer.
  auto is_integer = [](const ExprType& type) {
    return IsInteger(type.dtype) || type.dtype == DType::kBool;
  };
  if (IsInteger(dtype) &&
      !std::all_of(definition->inputs.begin(), definition->inputs.end(), is_integer)) {
    return {};
  }
  const ScalarExpr& body = definition->tensors[0].body;
  if (body.kind() != ScalarExpr::Kind::kReduce || body.reduce() != ReduceKind::kSum) return {};
  Reads reads(body);
  std::vector<SummedDim> summed;
  for (size_t a = 0; a < body.axes().size(); ++a) {
    const Axis& axis = body.axes()[a];
    const std::optional<int64_t> extent = axis.extent.AsConst();
    if (!extent || !reads.OnlyIndexes(axis.var)) continue;
    SummedDim sum{static_cast<int>(a), *extent, {}};
    for (TensorId input = 0; input < definition->num_inputs(); ++input) {
      const std::optional<int> dim = reads.DimensionOf(axis.var, input);
      // A part of the input must have the same indices.
      if (!dim || (*dim >= 0 && definition->inputs[input].dims[*dim].AsConst() != extent)) break;
      sum.dims.push_back(*dim);
    }
    if (static_cast<int>(sum.dims.size()) == definition->num_inputs()) {
      summed.push_back(std::move(sum));
    }
  }
  return summed;
}

Reductions ReductionsOf(const Node& node) {
  const std::optional<Definition> definition = InlinedDefinition(node);
  if (!definition) return {};
  const Reads reads(definition->tensors[0].body);
  Reductions reductions{reads.has_reduction(), reads.ReadsBesideReduction(), {}};
  for (TensorId input = 0; input < definition->num_inputs(); ++input) {
    reductions.of_input.push_back(reads.ReadsInside(input));
  }
  return reductions;
}

}  // namespace lemma::cpu
