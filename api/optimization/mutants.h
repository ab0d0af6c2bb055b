// Adds corrected mutants of parts of the graph as rules (docs/pet.md).
#ifndef LEMMA_API_OPTIMIZATION_MUTANTS_H_
#define LEMMA_API_OPTIMIZATION_MUTANTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/search_run.h"
#include "graph/graph.h"
#include "pet/finder.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

// Options for the finder, which prices candidates by `costs`.
pet::PetOptions PetOptionsOf(optimizer::CostModel* costs, const Deadline& deadline);

// For each part of the graph, adds to the run's rules those corrected mutants that cost no more
// than the part, unless `lemma check` could not verify them. Returns the number of new rules.
absl::StatusOr<int> AddMutants(const Graph& graph, pet::PetFinder* finder, SearchRun* run);

// Adds the corrected mutants of a certificate to the run's rules, after it has checked each of
// them.
absl::Status TakeMutants(const Certificate& certificate, SearchRun* run);

// The entries of `known` that belong to `rules`, in the order of `rules`.
std::vector<CertificateMutant> MutantsOf(const std::vector<Substitution>& rules,
                                         const std::vector<CertificateMutant>& known);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_MUTANTS_H_
