// Finds the corrected mutants of a subprogram (pet/subprogram.h), cheapest first.
#ifndef LEMMA_PET_CORRECTORS_CANDIDATES_H_
#define LEMMA_PET_CORRECTORS_CANDIDATES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/deadline.h"
#include "graph/graph.h"
#include "pet/mutants/mutant.h"
#include "pet/regions/region.h"

namespace lemma::pet {

struct Candidate {
  Mutant mutant;
  Region region;          // where the mutant differs from the original
  Graph corrected;        // equals the original everywhere
  std::string corrector;  // "none needed", "overwrite 2 boxes", "add what was left out"
  int64_t cost = 0;       // of `corrected`, in the unit of CandidateOptions::cost
};

using CostFn = std::function<absl::StatusOr<int64_t>(const Graph&)>;

struct CandidateOptions {
  MutantOptions mutants;
  RegionOptions regions;
  // The largest share of positions that may be overwritten. A mutant that differs at more positions
  // is dropped, unless it leaves out a part that can be added (Mutant::rest).
  double max_differs = 0.5;
  int look_at = 48;  // largest number of mutants to correct: the cheapest by `estimate`
  int keep = 8;      // largest number of candidates to keep: the cheapest by `cost`
  // Two functions that return the cost of a graph, in nanoseconds or in any unit in which less is
  // better. Both are required. `estimate` is called for all mutants. `cost` may be slow, for
  // example because it measures: it is called for the original and for corrected mutants only.
  CostFn estimate, cost;
  // After the deadline passes, no further mutant is corrected. The deadline does not end the
  // enumeration of mutants.
  Deadline deadline;
};

struct Candidates {
  // Sorted by cost, then by estimate, then in the order of ForEachMutant.
  std::vector<Candidate> found;
  int64_t original_cost = 0;
  int64_t mutants = 0;    // number of mutants that ForEachMutant found
  int64_t looked_at = 0;  // number of mutants that were considered for correction
};

// Each candidate is proved and tested to equal the original at its shapes: the region where
// `corrected` differs from the original is empty. Candidates for which the proof or the test takes
// too much work are dropped. Errors are those of ForEachMutant, those of FindRegion except
// ResourceExhausted, and those of the two cost functions; Internal if a proof and the randomized
// check disagree.
absl::StatusOr<Candidates> FindCandidates(const Graph& original, const CandidateOptions& options);

}  // namespace lemma::pet

#endif  // LEMMA_PET_CORRECTORS_CANDIDATES_H_
