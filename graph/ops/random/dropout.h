// Dropout from a seed, by ordinary operators.
#ifndef LEMMA_GRAPH_OPS_RANDOM_DROPOUT_H_
#define LEMMA_GRAPH_OPS_RANDOM_DROPOUT_H_

#include <cstdint>

#include "graph/ops/formula.h"

namespace lemma::ops {

// x with each element 0 with probability `ratio`, in [0, 1), and else divided by 1 - ratio. What is
// dropped depends on nothing but `seed`, an i64 scalar, on `salt`, which tells the dropouts of a
// model apart, and on the element's position: a counter-based generator, whose arithmetic modulo a
// prime below 2^26 is exact in every back end, doubles included.
Value Dropout(Formula& f, const Value& x, double ratio, const Value& seed, int64_t salt);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_RANDOM_DROPOUT_H_
