// Values of one graph that are those of another one in another layout. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
#define LEMMA_VERIFIER_REFEREE_LAYOUTS_H_

#include <vector>

#include "graph/graph.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// The orders of dimensions that make `to` of `from`, but the order as it is. Dimensions of size 1
// keep their order among each other.
std::vector<std::vector<int64_t>> OrdersBetween(const Shape& from, const Shape& to);

// Reshaped and transposed values of `before` that may be values of `after` for which `before` has
// none of that type: their elements are alike but for the order.
std::vector<Value> OtherLayouts(const Graph& before, const Graph& after, const Sketches& in_before,
                                const Sketches& in_after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
