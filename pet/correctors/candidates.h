// Corrected mutants of a subprogram, cheapest first: what PET offers.
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
  Region region;          // where the mutant differs
  Graph corrected;        // differs nowhere
  std::string corrector;  // "none needed", "overwrite 2 boxes", "add what was left out"
  int64_t cost = 0;       // of `corrected`, in the unit of the options' cost
};

using CostFn = std::function<absl::StatusOr<int64_t>(const Graph&)>;

struct CandidateOptions {
  MutantOptions mutants;
  RegionOptions regions;
  // A mutant to which nothing is added may differ at this share of the positions.
  double max_differs = 0.5;
  int look_at = 48;  // mutants, the cheapest by `estimate`
  int keep = 8;      // corrected ones, the cheapest by `cost`
  // What a graph costs: nanoseconds, or anything else of which less is better. Required; `cost`
  // may be slow, as when it measures: it is asked of corrected mutants only.
  CostFn estimate, cost;
  // Once it has passed no further mutant is looked at.
  Deadline deadline;
};

struct Candidates {
  std::vector<Candidate> found;  // by cost, then by estimate, then in the order of ForEachMutant
  int64_t original_cost = 0;
  int64_t mutants = 0;    // that agreed at the samples
  int64_t looked_at = 0;  // of them
};

// Every candidate is proved and tested to be equal to the original at its shapes: the region of
// `corrected` is empty; what is too large for that is none. Errors are ForEachMutant's, and
// Internal where a proof and the field test disagree.
absl::StatusOr<Candidates> FindCandidates(const Graph& original, const CandidateOptions& options);

}  // namespace lemma::pet

#endif  // LEMMA_PET_CORRECTORS_CANDIDATES_H_
