// PET for a whole graph: its parts, their corrected mutants, and the rules that these are.
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
  // A candidate that costs more than this times its original is offered to nobody.
  double max_cost = 1.0;
};

// A rule and where it comes from.
struct PetRule {
  Substitution rule;  // from the part to the corrected mutant, at these shapes
  Graph original;
  Candidate candidate;
};

// Remembers what it found for a part, so that an equal one, in the same graph or in another, gets
// the same answer at once.
class PetFinder {
 public:
  explicit PetFinder(PetOptions options) : options_(std::move(options)) {}

  // The candidates of one part. What a deadline cut short is not remembered.
  absl::StatusOr<std::shared_ptr<const Candidates>> CandidatesOf(const Graph& part);

  // The rules for all parts of a graph, by part and then by cost. Parts that are no sums of
  // products after all, or too large to be decided, have none; nor have those that are left when
  // the candidates' deadline passes.
  absl::StatusOr<std::vector<PetRule>> RulesFor(const Graph& graph);

  int64_t hits() const { return hits_; }  // answers that were remembered

 private:
  const PetOptions options_;
  std::map<uint64_t, std::shared_ptr<const Candidates>> known_;  // by structural hash
  int64_t hits_ = 0;
};

}  // namespace lemma::pet

#endif  // LEMMA_PET_FINDER_H_
