// Finds mutants: graphs that equal a part of a model at some positions at least, together with
// correctors for the other positions (docs/pet.md). Code: api/pet.
#ifndef LEMMA_API_PET_H_
#define LEMMA_API_PET_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/execution/backends.h"
#include "api/optimization/costs.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "pet/correctors/candidates.h"
#include "pet/subprogram.h"
#include "pet/symbolic/symbolic.h"

namespace lemma::api {

struct PetSearchOptions {
  ExecutionOptions execution;
  CostOptions costs;     // how mutants are priced
  int64_t keep = 8;      // the number of corrected mutants to keep of each part: the cheapest
  int64_t look_at = 48;  // the number of mutants of each part to correct and price
  int64_t max_ops = 2;   // the most operators in a part
  Deadline deadline;     // no further mutant is tried after it
  // on_part is called before each part, with its number from 1 to `parts`; on_measure before each
  // measurement of a kernel.
  std::function<void(int part, int parts)> on_part;
  std::function<void(absl::string_view signature)> on_measure;
};

// A part of a graph (one or a few operators that are sums of products), and its corrected mutants.
struct MutatedPart {
  pet::Subprogram part;
  std::shared_ptr<const pet::Candidates> candidates;  // never null; costs in nanoseconds
};

// The parts in the order in which their outputs occur in the graph; equal parts are one entry.
// InvalidArgument if an option is out of range; errors of MakeCosts and of pet::FindCandidates.
absl::StatusOr<std::vector<MutatedPart>> FindMutants(const Graph& graph,
                                                     const PetSearchOptions& options);

// The predicted speedup, minus 1: it is 1 if the corrected mutant takes half as long as the part.
double PredictedGain(const MutatedPart& part, const pet::Candidate& candidate);

// Proves, for all sizes, at which positions the mutant agrees with the part; takes seconds.
// FailedPrecondition if the mutant has no recipe (pet/mutants/recipe.h), InvalidArgument as in
// pet::ProveForAllSizes (pet/symbolic/symbolic.h).
absl::StatusOr<pet::SymbolicRegion> ProveForAllSizes(const MutatedPart& part,
                                                     const pet::Candidate& candidate);

struct PetTextOptions {
  bool graphs = false;     // also the corrected mutants
  bool all_sizes = false;  // also what ProveForAllSizes finds, which takes seconds for each
};
// The part and its mutants for people, with a picture of where each mutant differs.
std::string TextOf(const MutatedPart& part, const PetTextOptions& options = {});

// The cheapest mutant that differs somewhere from its part, taken from the first part that has such
// a mutant. Points into `parts`. nullptr if no part has such a mutant.
const pet::Candidate* FirstThatDiffers(const std::vector<MutatedPart>& parts);
// An SVG picture of where the mutant of FirstThatDiffers differs. NotFound if there is no such
// mutant.
absl::StatusOr<std::string> PictureOf(const std::vector<MutatedPart>& parts);

}  // namespace lemma::api

#endif  // LEMMA_API_PET_H_
