// Rules that are corrected mutants of parts of the graph (docs/pet.md).
#ifndef LEMMA_API_OPTIMIZATION_MUTANTS_H_
#define LEMMA_API_OPTIMIZATION_MUTANTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/search_run.h"
#include "graph/graph.h"
#include "pet/finder.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

// The finder's options: candidates are priced by the run's costs.
pet::PetOptions PetOptionsOf(optimizer::CostModel* costs, const Deadline& deadline);

// Adds the rules of the corrected mutants of the graph's parts that cost less than these. Returns
// how many are new.
absl::StatusOr<int> AddMutants(const Graph& graph, pet::PetFinder* finder, SearchRun* run);

// Takes over the rules of a certificate that are corrected mutants, if each is what it says.
absl::Status TakeMutants(const Certificate& certificate, SearchRun* run);

// The mutants that `rules` are, in their order.
std::vector<CertificateMutant> MutantsOf(const std::vector<Substitution>& rules,
                                         const std::vector<CertificateMutant>& known);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_MUTANTS_H_
