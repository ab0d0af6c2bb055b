// The order and the division of unsigned 64-bit integers, in signed arithmetic.
#ifndef LEMMA_GRAPH_EXPR_UNSIGNED_H_
#define LEMMA_GRAPH_EXPR_UNSIGNED_H_

#include "graph/expr/tensor_expr.h"

namespace lemma {

// Integers are computed in int64_t, which wraps (arithmetic.h). Sums, differences, products, bits
// and equality of u64 are right without a change: they depend on the values modulo 2^64 only.
// Comparisons, extremes, divisions, remainders, signs and powers are not. Returns the definition
// with the latter expressed in int64_t functions such that the results, modulo 2^64, are those of
// unsigned integers. Unchanged if no u64 takes part, or if it is computed in real numbers.
Definition WithUnsignedOrder(Definition definition);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_UNSIGNED_H_
