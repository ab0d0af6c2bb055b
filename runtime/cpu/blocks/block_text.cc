#include "runtime/cpu/blocks/block_text.h"

#include "graph/expr/substitute.h"

namespace lemma::cpu {
namespace {

// The sum with other extents of some variables, given by their positions. Variables with one index
// are left out.
ScalarExpr WithExtents(const ScalarExpr& sum, const std::vector<std::pair<int, int64_t>>& extents) {
  std::vector<Axis> axes;
  ExprSubstitution at;
  for (size_t a = 0; a < sum.axes().size(); ++a) {
    Axis axis = sum.axes()[a];
    for (const auto& [variable, extent] : extents) {
      if (static_cast<int>(a) == variable) axis.extent = extent;
    }
    if (axis.extent.AsConst() == 1) {
      at.vars[axis.var] = 0;
    } else {
      axes.push_back(axis);
    }
  }
  const ScalarExpr body = Substitute(sum.args()[0], at);
  const Guard guard = Substitute(sum.guard(), at);
  return axes.empty() && guard.is_true() ? body
                                         : ScalarExpr::Reduce(sum.reduce(), axes, guard, body);
}

}  // namespace

std::string BodyAt(const Definition& definition, const std::vector<bool>& zero, bool part_of_sum,
                   const std::vector<std::pair<int, int64_t>>& extents) {
  ExprSubstitution at;
  const TensorExpr& tensor = definition.tensors[0];
  for (size_t d = 0; d < zero.size(); ++d) {
    if (zero[d]) at.vars[tensor.axes[d].var] = 0;
  }
  const ScalarExpr body = Substitute(tensor.body, at);
  return (part_of_sum ? WithExtents(body, extents) : body).ToString();
}

}  // namespace lemma::cpu
