// Seeded dropout, built from ordinary operators.
#ifndef LEMMA_GRAPH_OPS_RANDOM_DROPOUT_H_
#define LEMMA_GRAPH_OPS_RANDOM_DROPOUT_H_

#include <cstdint>

#include "graph/ops/formula.h"

namespace lemma::ops {

// Sets each element of x to 0 with probability `ratio`, in [0, 1), and multiplies the others by
// 1 / (1 - ratio). The choice depends only on `seed` (an i64 scalar), on `salt` (a different number
// for each dropout of a model) and on the element's position. The pseudo-random numbers are
// computed modulo a prime below 2^26, so they are exact in every back end, also in one that
// computes in double. An empty x (a zero, see Formula) gives an empty result.
Value Dropout(Formula& f, const Value& x, double ratio, const Value& seed, int64_t salt);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_RANDOM_DROPOUT_H_
