// Proves large graphs equal value by value. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_GRAPH_SWEEP_H_
#define LEMMA_VERIFIER_PROVER_GRAPH_SWEEP_H_

#include <optional>

#include "graph/graph.h"
#include "verifier/prover/prover.h"

namespace lemma::prover {

// The result of Sweep(a, b).
struct Swept {
  Graph graph;    // `b`, in which values of `a` replace those that were proved equal to them
  Proved proved;  // that `graph` equals `b`
};

// Goes through `b`, operands first. A value of `b` is replaced by a value of `a` if both agree on
// random inputs and are then proved equal. In these proofs, values that both graphs have are
// inputs, so each is about a few operators. nullopt if running both graphs takes more than 2e10
// operations.
std::optional<Swept> Sweep(const Graph& a, const Graph& b, const ProverOptions& options);

// Adds `part` to `total`, which now rests on it too: the looser contract, the work, the queries.
void Join(const Proved& part, Proved* total);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_GRAPH_SWEEP_H_
