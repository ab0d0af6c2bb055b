// Changes the constants of a graph as much as rounding may. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_OTHER_ROUNDINGS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_OTHER_ROUNDINGS_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "graph/graph.h"

namespace lemma::referee {

// The graph with its float constants, and its weights with known elements, changed as another
// rounding may change them: each element by a few units in the last place. A constant of one
// element is not changed if it is a multiple of 1/4096. `draw` chooses the directions: draw 0 moves
// all constants away from 0, draw 1 towards 0; in other draws each constant moves in one of these
// directions, at random. If `only` is given, only the constants and weights in it are changed.
Graph WithOtherRoundings(const Graph& graph, uint64_t draw,
                         const absl::flat_hash_set<const Node*>* only = nullptr);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_OTHER_ROUNDINGS_H_
