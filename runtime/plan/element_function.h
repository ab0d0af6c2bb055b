// Element-wise applications as functions of single elements.
#ifndef LEMMA_RUNTIME_PLAN_ELEMENT_FUNCTION_H_
#define LEMMA_RUNTIME_PLAN_ELEMENT_FUNCTION_H_

#include <optional>
#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma {

// An element of the only output as a function of one element of each input.
struct ElementFunction {
  ScalarExpr body;  // Read(k, {}) is the element of input k
  // By input: the dimensions of the output along which the input's element changes, ascending.
  std::vector<std::vector<int>> dims;
};

// The function that an element-wise definition applies. `definition` must be element-wise
// (NodeTraits::pointwise in runtime/plan/node_traits.h). nullopt if an element of the output
// depends on several elements of one input.
std::optional<ElementFunction> ElementFunctionOf(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_ELEMENT_FUNCTION_H_
