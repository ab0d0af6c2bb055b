// Proving large graphs equal value by value. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_GRAPH_SWEEP_H_
#define LEMMA_VERIFIER_PROVER_GRAPH_SWEEP_H_

#include <optional>

#include "graph/graph.h"
#include "verifier/prover/prover.h"

namespace lemma::prover {

struct Swept {
  Graph graph;    // the second, computing of the first's values those that were proved equal to its
  Proved proved;  // that it equals the second
};

// Goes through `b`, operands first. A value that has the numbers of one of `a` on random inputs,
// and is proved to be that one with what both compute as inputs, is replaced by it; so each proof
// speaks of a few operators. nullopt if running both takes more than 2e10 operations.
std::optional<Swept> Sweep(const Graph& a, const Graph& b, const ProverOptions& options);

// Adds to `total` what rests on `part` too.
void Join(const Proved& part, Proved* total);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_GRAPH_SWEEP_H_
