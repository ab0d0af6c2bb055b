// Finds divisions whose result depends on the sign of a zero.
#ifndef LEMMA_REWRITE_RULES_ZERO_SIGNS_H_
#define LEMMA_REWRITE_RULES_ZERO_SIGNS_H_

#include "graph/expr/tensor_expr.h"
#include "graph/graph.h"

namespace lemma {

// Whether a result of a maximum or minimum that may be 0 reaches a divisor or the base of a power.
// The order of operands decides whether a maximum gives 0 or -0, and bit-exact proofs ignore that
// order. The sign matters only in divisions and powers: division by -0 gives an infinity of the
// other sign than division by 0. The answer "false" is certain; "true" may be wrong.
bool DividesByZeroOfAnySign(const Definition& definition);
// The same for a graph. True if an operator has no definition.
bool DividesByZeroOfAnySign(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_ZERO_SIGNS_H_
