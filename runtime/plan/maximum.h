// Recognizes operators whose results are maxima of elements of their operand.
#ifndef LEMMA_RUNTIME_PLAN_MAXIMUM_H_
#define LEMMA_RUNTIME_PLAN_MAXIMUM_H_

#include "graph/expr/tensor_expr.h"

namespace lemma {

// Whether each element of the only output is the largest of one or more elements of the only input,
// as in a max pool. The indices of these input elements must depend only on the index of the output
// element. False means only that the function could not show this. It is always false if a size is
// not a constant.
bool SelectsLargest(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_PLAN_MAXIMUM_H_
