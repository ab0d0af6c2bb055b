// Changes constants of a graph as rounding may. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_OTHER_ROUNDINGS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_OTHER_ROUNDINGS_H_

#include <cstdint>

#include "graph/graph.h"

namespace lemma::referee {

// The graph with other roundings of its float constants, each by some units in the last place. In
// the draws 0 and 1, all move in one direction; in others, each in its own.
Graph WithOtherRoundings(const Graph& graph, uint64_t draw);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_OTHER_ROUNDINGS_H_
