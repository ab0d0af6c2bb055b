// PET for a whole graph: finds its subprograms, corrects their mutants, and returns them as rules.
// A candidate is a corrected mutant (pet/correctors/candidates.h).
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
  // Candidates that cost more than this times their original are dropped.
  double max_cost = 1.0;
};

// A rule and its origin.
struct PetRule {
  Substitution rule;  // from the subprogram to the corrected mutant, at these shapes
  Graph original;
  Candidate candidate;
};

// Caches the candidates of each subprogram, so that an equal one, in the same or another graph,
// gets the same answer at once.
class PetFinder {
 public:
  explicit PetFinder(PetOptions options) : options_(std::move(options)) {}

  // The candidates of one subprogram. A result that the deadline cut short is not cached.
  absl::StatusOr<std::shared_ptr<const Candidates>> CandidatesOf(const Graph& part);

  // The rules for all subprograms of a graph, by subprogram, then by cost. None for subprograms
  // that turn out not to be sums of products or are too large to decide, or that remain when the
  // candidates' deadline passes.
  absl::StatusOr<std::vector<PetRule>> RulesFor(const Graph& graph);

  int64_t hits() const { return hits_; }  // answers from the cache

 private:
  const PetOptions options_;
  std::map<uint64_t, std::shared_ptr<const Candidates>> known_;  // by structural hash
  int64_t hits_ = 0;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_FINDER_H_
