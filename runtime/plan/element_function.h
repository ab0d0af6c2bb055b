// Finds the function of single elements that an element-wise operator applies.
#ifndef LEMMA_RUNTIME_PLAN_ELEMENT_FUNCTION_H_
#define LEMMA_RUNTIME_PLAN_ELEMENT_FUNCTION_H_

#include <optional>
#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma {

// A function that computes an element of the only output from one element of each input.
struct ElementFunction {
  ScalarExpr body;  // Read(k, {}) is the element of input k
  // By input: the dimensions of the output along which the input is not broadcast, ascending. For
  // y[i, j] = x[i, j] + b[j]: {0, 1} and {1}.
  std::vector<std::vector<int>> dims;
};

// The function that an element-wise definition applies. `definition` must be
// element-wise (NodeTraits::pointwise in runtime/plan/node_traits.h). nullopt
// if an element of the output depends on several elements of one input, or if
// the definition's locals cannot be substituted.
std::optional<ElementFunction> ElementFunctionOf(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_ELEMENT_FUNCTION_H_
