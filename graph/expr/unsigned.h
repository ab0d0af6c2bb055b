// Rewrites definitions on u64 so that arithmetic in int64_t computes them.
#ifndef LEMMA_GRAPH_EXPR_UNSIGNED_H_
#define LEMMA_GRAPH_EXPR_UNSIGNED_H_

#include "graph/expr/tensor_expr.h"

namespace lemma {

// Integers are computed in int64_t, which wraps (arithmetic.h). For u64, sums, differences,
// products, bit operations and equality need no change: they depend on the values modulo 2^64 only.
// WithUnsignedOrder replaces comparisons, minima, maxima, absolute values, divisions, remainders,
// signs and powers by int64_t functions whose results, modulo 2^64, are the results for unsigned
// integers. It returns the definition unchanged if no tensor has type u64, or if
// ArithmeticFor(definition) is not kInteger.
Definition WithUnsignedOrder(Definition definition);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_UNSIGNED_H_
