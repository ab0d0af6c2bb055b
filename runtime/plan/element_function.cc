#include "runtime/plan/element_function.h"

#include <algorithm>
#include <utility>

#include "graph/expr/compose.h"
#include "graph/expr/substitute.h"

namespace lemma {

std::optional<ElementFunction> ElementFunctionOf(const Definition& definition) {
  const Definition whole = Inline(definition);
  if (whole.tensors.size() != 1) return std::nullopt;
  const TensorExpr& output = whole.tensors[0];
  std::vector<std::optional<std::vector<int>>> dims(whole.inputs.size());
  bool one_element_each = true;
  ExprSubstitution substitution;
  substitution.read = [&](TensorId input, const Idx& indices) {
    std::vector<int> along;
    for (const IndexExpr& index : indices) {
      for (size_t d = 0; d < output.axes.size(); ++d) {
        const bool own = index.kind() == IndexExpr::Kind::kVar && index.var() == output.axes[d].var;
        if (own) along.push_back(static_cast<int>(d));
      }
    }
    std::sort(along.begin(), along.end());
    one_element_each = one_element_each && dims[input].value_or(along) == along;
    dims[input] = std::move(along);
    return ScalarExpr::Read(input, {});
  };
  ElementFunction result;
  result.body = Substitute(output.body, substitution);
  if (!one_element_each) return std::nullopt;
  for (std::optional<std::vector<int>>& d : dims) {
    result.dims.push_back(std::move(d).value_or(std::vector<int>()));
  }
  return result;
}

}  // namespace lemma
