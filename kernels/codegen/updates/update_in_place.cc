#include "kernels/codegen/updates/update_in_place.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "graph/expr/compose.h"
#include "graph/expr/free_vars.h"
#include "graph/expr/substitute.h"
#include "kernels/codegen/reductions.h"
#include "kernels/codegen/schedules.h"
#include "kernels/loops/loop_check.h"
#include "kernels/loops/loop_lowering.h"

namespace lemma::codegen {
namespace {

using loops::Nest;
using loops::NestSource;
using Kind = ScalarExpr::Kind;

// A reduction of one term as this term.
ScalarExpr WithoutReductionOfOne(const ScalarExpr& e) {
  if (e.kind() != Kind::kReduce || !e.guard().is_true()) return e;
  ExprSubstitution first;
  for (const Axis& axis : e.axes()) {
    if (!axis.extent.is_const() || axis.extent.value() != 1) return e;
    first.vars[axis.var] = 0;
  }
  return Substitute(e.args()[0], first);
}

bool IsConstantOrIndex(const ScalarExpr& e) {
  return e.kind() == Kind::kIndex ||
         (e.kind() == Kind::kConst &&
          e.value() == static_cast<double>(static_cast<int64_t>(e.value())));
}

// Matches the output of a definition as an element-wise choice between new and old elements.
class UpdateMatcher {
 public:
  UpdateMatcher(const Definition& definition, const NestSource& source)
      : definition_(definition), source_(source) {}

  // `source`, with a select around the new elements whose guard says which elements they are: a
  // conjunction of variable == integer, of num_positions() parts. nullopt: the changes are not of
  // this form.
  std::optional<NestSource> Match(int kept) {
    const ScalarExpr& body = source_.body;
    if (!IsApply(body, ScalarFn::kWhere) || !IsOld(body.args()[2], kept)) return std::nullopt;
    const ScalarExpr test = WithoutReductionOfOne(body.args()[0]);
    if (!Solve(test)) return std::nullopt;
    ScalarExpr value = WithoutReductionOfOne(body.args()[1]);
    if (IsApply(value, ScalarFn::kWhere) && value.args()[0].ToString() == test.ToString()) {
      value = value.args()[1];
    }
    NestSource result = source_;
    result.body = ScalarExpr::Select(guard_, value, 0);
    return result;
  }
  size_t num_positions() const { return positions_.size(); }

 private:
  // Whether `e` is the element of the input `kept` at the output's own index.
  bool IsOld(const ScalarExpr& e, int kept) const {
    if (e.kind() != Kind::kRead || e.tensor() != kept) return false;
    const Idx& at = e.indices();
    if (at.size() != source_.out.size()) return false;
    for (size_t i = 0; i < at.size(); ++i) {
      if (!Identical(at[i], source_.out[i])) return false;
    }
    return true;
  }

  // Adds the guard of a test: variable == integer, or several of these.
  bool Solve(const ScalarExpr& test) {
    if (IsApply(test, ScalarFn::kAnd)) return Solve(test.args()[0]) && Solve(test.args()[1]);
    if (!IsApply(test, ScalarFn::kEqual)) return false;
    for (int i = 0; i < 2; ++i) {
      const ScalarExpr &index = test.args()[i], &position = test.args()[1 - i];
      if (index.kind() != Kind::kIndex || index.index().kind() != IndexExpr::Kind::kVar) continue;
      if (!IsPosition(position)) continue;
      const VarId var = index.index().var();
      const bool is_axis = std::any_of(source_.axes.begin(), source_.axes.end(),
                                       [&](const Axis& axis) { return axis.var == var; });
      VarSet both = Union(solved_, {var});
      if (!is_axis || both.size() == solved_.size()) continue;
      guard_ = guard_ && Eq(index.index(), IndexExpr::Load(position.node()));
      solved_ = std::move(both);
      positions_.push_back(position);
      return NoPositionVaries();
    }
    return false;
  }

  // Whether no position depends on a variable that another position decides.
  bool NoPositionVaries() {
    return std::none_of(positions_.begin(), positions_.end(), [&](const ScalarExpr& position) {
      const VarSet& free = free_.Of(position);
      return std::any_of(solved_.begin(), solved_.end(),
                         [&](VarId var) { return Contains(free, var); });
    });
  }

  // Whether `e` is an integer that int64_t computes as its definition does, without wrapping in a
  // way that matters: an element of an integer tensor, perhaps counted from the end.
  bool IsPosition(const ScalarExpr& e) const {
    switch (e.kind()) {
      case Kind::kConst:
      case Kind::kIndex:
        return IsConstantOrIndex(e);
      case Kind::kRead: {
        const DType dtype = definition_.TypeOf(e.tensor()).dtype;
        return !IsFloat(dtype) && dtype != DType::kBool && dtype != DType::kU64;
      }
      case Kind::kApply: {
        const ScalarFn fn = e.fn();
        const bool shifts = fn == ScalarFn::kAdd &&
                            (IsConstantOrIndex(e.args()[0]) || IsConstantOrIndex(e.args()[1]));
        if (!shifts && fn != ScalarFn::kWhere && fn != ScalarFn::kLess) return false;
        return std::all_of(e.args().begin(), e.args().end(),
                           [&](const ScalarExpr& arg) { return IsPosition(arg); });
      }
      default:
        return false;
    }
  }

  const Definition& definition_;
  const NestSource& source_;
  Guard guard_ = true;
  VarSet solved_;
  std::vector<ScalarExpr> positions_;
  FreeVars free_;
};

// The pairs variable == leaf of a conjunction.
void ListPositions(const Nest& nest, int cond, std::vector<std::pair<int, int>>* positions) {
  const loops::Cond& c = nest.conds[cond];
  if (c.kind == loops::Cond::Kind::kAnd) {
    ListPositions(nest, c.left, positions);
    ListPositions(nest, c.right, positions);
  }
  if (c.kind != loops::Cond::Kind::kEq || c.affine.terms.size() != 2 || c.affine.base != 0) return;
  int var = -1, leaf = -1;
  for (const auto& [term, factor] : c.affine.terms) {
    (nest.leaves[term].kind == loops::IndexLeaf::Kind::kVar ? var : leaf) = term;
  }
  if (var >= 0 && leaf >= 0) positions->emplace_back(var, leaf);
}

}  // namespace

std::optional<GridProgram> MakeUpdateInPlace(const Definition& definition, int kept) {
  const Definition whole = Inline(definition);
  if (whole.outputs.size() != 1 || whole.tensors.size() != 1) return std::nullopt;
  const TensorId out = whole.outputs[0];
  if (out != whole.num_inputs() || kept >= out || !loops::CheckEvaluable(whole).ok()) {
    return std::nullopt;
  }
  const ExprType from = whole.TypeOf(kept), to = whole.TypeOf(out);
  if (from.dtype != to.dtype || from.dims.size() != to.dims.size()) return std::nullopt;
  for (size_t d = 0; d < to.dims.size(); ++d) {
    if (!Identical(from.dims[d], to.dims[d])) return std::nullopt;
  }
  int fresh = whole.num_vars;
  const NestSource source = SimplifiedSource(whole.tensors[0], out, &fresh);
  if (loops::IsEmpty(source)) return std::nullopt;
  UpdateMatcher matcher(whole, source);
  const std::optional<NestSource> changes = matcher.Match(kept);
  if (!changes) return std::nullopt;
  KernelContext context;
  context.number = NumberFor(definition);  // as without the update in place
  context.slots = loops::DenseSlots(whole);
  GridProgram program;
  program.num_inputs = whole.num_inputs();
  program.outputs = {out};
  program.kept = kept;
  for (TensorId id = 0; id <= out; ++id) {
    const ExprType type = whole.TypeOf(id);
    int64_t elements = 1;
    for (const IndexExpr& dim : type.dims) elements *= dim.value();
    context.storage.push_back(type.dtype);
    program.slots.push_back({type.dtype, elements});
  }
  const Nest nest = loops::Lower(*changes, context.slots);
  const loops::Node& root = nest.nodes[nest.root];
  if (root.kind != Kind::kSelect) return std::nullopt;
  std::vector<std::pair<int, int>> positions;
  ListPositions(nest, root.guard, &positions);
  if (positions.size() != matcher.num_positions()) return std::nullopt;
  GridKernel kernel = KernelAtPositions(context, nest, root.args[0], positions);
  if (std::count(kernel.reads.begin(), kernel.reads.end(), kept) > 0) return std::nullopt;
  program.kernels.push_back(std::move(kernel));
  return program;
}

}  // namespace lemma::codegen
