// Where the sign of a zero decides.
#ifndef LEMMA_REWRITE_RULES_ZERO_SIGNS_H_
#define LEMMA_REWRITE_RULES_ZERO_SIGNS_H_

#include "graph/expr/tensor_expr.h"

namespace lemma {

// Whether something is divided by what a maximum or minimum may have made 0. Which of 0 and -0 a
// maximum gives depends on the order of its operands, which proofs bit by bit do not look at: no
// harm but in a divisor, where it makes an infinity of the other sign, or in the base of a power.
// "No" is certain.
bool DividesByZeroOfAnySign(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_ZERO_SIGNS_H_
