// Partially equivalent mutants of a model's parts: docs/pet.md.
#ifndef LEMMA_API_PET_H_
#define LEMMA_API_PET_H_

#include <cstdint>
#include <functional>
#include <memory>
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
  CostOptions costs;     // what mutants are compared by
  int64_t keep = 8;      // corrected mutants of a part, the cheapest
  int64_t look_at = 48;  // mutants of a part that are corrected and priced
  int64_t max_ops = 2;   // operators in a part
  Deadline deadline;     // once it has passed no further mutant is looked at
  // Called before a part, number 1 to `parts`, and before a kernel is measured.
  std::function<void(int part, int parts)> on_part;
  std::function<void(absl::string_view signature)> on_measure;
};

// A part of a graph that is a sum of products, and its corrected mutants.
struct MutatedPart {
  pet::Subprogram part;
  std::shared_ptr<const pet::Candidates> candidates;  // costs in nanoseconds
};

// In the order in which the parts occur; each once. InvalidArgument if an option is out of range.
absl::StatusOr<std::vector<MutatedPart>> FindMutants(const Graph& graph,
                                                     const PetSearchOptions& options);

// How many times the part's time its corrected mutant saves: 1 where it takes half as long.
double PredictedGain(const MutatedPart& part, const pet::Candidate& candidate);

// Where a mutant agrees with the part at all sizes, proved, which takes seconds. FailedPrecondition
// if the mutant has no recipe; InvalidArgument if what it does is not known at other sizes.
absl::StatusOr<pet::SymbolicRegion> ProveForAllSizes(const MutatedPart& part,
                                                     const pet::Candidate& candidate);

// The first part's cheapest mutant that differs somewhere; nullptr: there is none.
const pet::Candidate* FirstThatDiffers(const std::vector<MutatedPart>& parts);

}  // namespace lemma::api

#endif  // LEMMA_API_PET_H_
