// Two graphs at their shapes as a statement, its proof and its refutation. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_GRAPH_CLAIM_H_
#define LEMMA_VERIFIER_PROVER_GRAPH_CLAIM_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "verifier/prover/prover.h"

namespace lemma::prover {

struct GraphClaim {
  Statement statement;
  // Of the statement's inputs that are constants, or weights whose values matter.
  std::vector<std::optional<Tensor>> known;
  // Constants were rounded when they were written, so that results that differ little may be meant
  // to be equal.
  bool rounded = false;
  int operators = 0;  // of both graphs, constants included
};

// `cut`: values of floats that both graphs compute are inputs, whatever they are.
absl::StatusOr<GraphClaim> MakeClaim(const Graph& a, const Graph& b, bool cut);

// Does not try to refute. The coverage is what has to be added to that of the graphs.
Verdict ProveClaim(const GraphClaim& claim, const ProverOptions& options);

// Inputs at which both sides, run in double, differ by more than rounding explains, also in f32 and
// if the inputs are changed a little, and at which the sides differ in the field. Runs nothing that
// takes more than some billion operations.
std::optional<Refuted> RefuteGraphs(const GraphClaim& claim, const ProverOptions& options);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_GRAPH_CLAIM_H_
