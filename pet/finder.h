// PET for a whole graph: finds its subprograms (pet/subprogram.h), corrects their mutants, and
// returns the corrected mutants as rules. A candidate is a corrected mutant
// (pet/correctors/candidates.h).
#ifndef LEMMA_PET_FINDER_H_
#define LEMMA_PET_FINDER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "pet/correctors/candidates.h"
#include "pet/subprogram.h"
#include "rewrite/rules/substitution.h"

namespace lemma::pet {

struct PetOptions {
  CandidateOptions candidates;
  SubprogramOptions subprograms;
  // RulesFor drops a candidate if its cost exceeds max_cost times the cost of its subprogram.
  double max_cost = 1.0;
};

// A rule and its origin.
struct PetRule {
  Substitution rule;  // from the subprogram to the corrected mutant, at these shapes
  Graph original;     // the subprogram
  Candidate candidate;
};

// Caches the candidates of each subprogram, so candidates of equal subprograms, in the same or
// another graph, are found once.
class PetFinder {
 public:
  explicit PetFinder(PetOptions options) : options_(std::move(options)) {}

  // The candidates of one subprogram. There are none if FindCandidates returns Unimplemented (the
  // subprogram is not a sum of products) or ResourceExhausted (it is too large to decide). Other
  // errors of FindCandidates are returned. A result that CandidateOptions::deadline cut short is
  // not cached.
  absl::StatusOr<std::shared_ptr<const Candidates>> CandidatesOf(const Graph& part);

  // The rules for all subprograms of a graph, ordered by subprogram, then by cost. A candidate that
  // cannot be written as a rule (pet/rule.h) is left out. After CandidateOptions::deadline passes,
  // no further subprogram is considered. Errors are those of SubprogramsOf and CandidatesOf.
  absl::StatusOr<std::vector<PetRule>> RulesFor(const Graph& graph);

  int64_t hits() const { return hits_; }  // number of answers from the cache

 private:
  const PetOptions options_;
  std::map<uint64_t, std::shared_ptr<const Candidates>> known_;  // by structural hash
  int64_t hits_ = 0;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_FINDER_H_
