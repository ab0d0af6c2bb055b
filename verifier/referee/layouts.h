// Finds values of one graph that are values of another graph with the elements in another order.
// Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
#define LEMMA_VERIFIER_REFEREE_LAYOUTS_H_

#include <vector>

#include "graph/graph.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// The permutations, except the identity, that transpose a tensor of shape `from` to one of shape
// `to`. They leave the dimensions of size 1 in their order, because moving such a dimension moves
// no element. None for more than 5 dimensions.
std::vector<std::vector<int64_t>> OrdersBetween(const Shape& from, const Shape& to);

// Reshaped or transposed values of `before` that may equal values of `after`, for those values of
// `after` that agree with no value of `before` of the same type. The sketches (values.h) of two
// such values suggest that they have the same elements, perhaps in another order.
std::vector<Value> OtherLayouts(const Graph& before, const Graph& after, const Sketches& in_before,
                                const Sketches& in_after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
