// Proves the equality of graphs that are too large for one proof. As in the referee
// (api/referee.h), the proof is made region by region.
#ifndef LEMMA_API_PROOFS_BY_REGIONS_H_
#define LEMMA_API_PROOFS_BY_REGIONS_H_

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "verifier/prover/prover.h"
#include "verifier/verdict.h"

namespace lemma::api {

// Whether the graphs have the same interface: as many inputs and outputs, of the same types by
// position.
bool HaveOneInterface(const Graph& a, const Graph& b);

// The verdict on two graphs with the same interface (HaveOneInterface). Weights without known
// values may have any values; they correspond by name. InvalidArgument if two such weights have the
// same name but different types; other errors as in Referee (api/referee.h).
absl::StatusOr<Verdict> ProveByRegions(const Graph& a, const Graph& b,
                                       const ProverOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_PROOFS_BY_REGIONS_H_
