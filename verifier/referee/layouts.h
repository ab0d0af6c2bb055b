// Finds values of one graph that, reshaped or transposed, may equal values of another graph.
// Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
#define LEMMA_VERIFIER_REFEREE_LAYOUTS_H_

#include <vector>

#include "graph/graph.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// The permutations, except the identity, that transpose a tensor of shape `from` to a tensor of
// shape `to`. Leaves out permutations that exchange dimensions of size 1 with each other: without
// the exchange, the same elements result. Empty for more than 5 dimensions.
std::vector<std::vector<int64_t>> OrdersBetween(const Shape& from, const Shape& to);

// Returns values that are computed from values of `before` by one reshape or
// transpose, and that may equal values of `after`. Skips results of operators
// in `after` that already agree with a value of `before` of the same type. That
// two values may have the same elements is a guess from their sketches
// (values.h), not a proof. The number of values returned is limited.
std::vector<Value> OtherLayouts(const Graph& before, const Graph& after, const Sketches& in_before,
                                const Sketches& in_after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
