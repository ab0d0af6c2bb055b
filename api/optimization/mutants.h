// Adds corrected mutants of parts of the graph (docs/pet.md) to the rules of a search.
#ifndef LEMMA_API_OPTIMIZATION_MUTANTS_H_
#define LEMMA_API_OPTIMIZATION_MUTANTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/optimization/search_run.h"
#include "graph/graph.h"
#include "pet/finder.h"
#include "rewrite/rules/certificate.h"

namespace lemma::api {

// Options for a PetFinder that prices candidates by `costs`; `costs` must outlive the finder.
pet::PetOptions PetOptionsOf(optimizer::CostModel* costs, const Deadline& deadline);

// Adds corrected mutants to the run's rules: for each part of the graph, the mutants that cost no
// more than the part. Leaves out mutants that `lemma check` could not verify. Returns the number of
// new rules.
absl::StatusOr<int> AddMutants(const Graph& graph, pet::PetFinder* finder, SearchRun* run);

// Checks the corrected mutants of a certificate (CheckMutant in verifier/certificate/mutant.h), and
// adds them to the run's rules. Returns the error of the first mutant that is wrong.
absl::Status TakeMutants(const Certificate& certificate, SearchRun* run);

// The entries of `known` that belong to `rules`, in the order of `rules`.
std::vector<CertificateMutant> MutantsOf(const std::vector<Substitution>& rules,
                                         const std::vector<CertificateMutant>& known);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_MUTANTS_H_
