// Finds divisions whose result depends on the sign of a zero.
#ifndef LEMMA_REWRITE_RULES_ZERO_SIGNS_H_
#define LEMMA_REWRITE_RULES_ZERO_SIGNS_H_

#include "graph/expr/tensor_expr.h"
#include "graph/graph.h"

namespace lemma {

// Whether the result of a maximum or minimum may be 0 and reaches a divisor or the base of a power.
// The maximum of 0 and -0 is 0 or -0, depending on the order of the operands, and bit-exact proofs
// ignore this order. The sign matters only in divisions and powers: divisions by -0 and by 0 give
// infinities of opposite signs. The answer "false" is certain; "true" may be wrong.
bool DividesByZeroOfAnySign(const Definition& definition);
// The same for a graph. Also true if an operator has no definition.
bool DividesByZeroOfAnySign(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_ZERO_SIGNS_H_
