// Values of one graph that are those of another one in another layout. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
#define LEMMA_VERIFIER_REFEREE_LAYOUTS_H_

#include <vector>

#include "graph/graph.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// Reshaped and transposed values of `before` that may be values of `after` for which `before` has
// none of that type: their elements are alike but for the order.
std::vector<Value> OtherLayouts(const Graph& before, const Graph& after, const Sketches& in_before,
                                const Sketches& in_after);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_LAYOUTS_H_
