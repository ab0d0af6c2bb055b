#include "pet/finder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "pet/rule.h"

namespace lemma::pet {
namespace {

std::string DetailOf(const Candidate& candidate) {
  return absl::StrCat("at these sizes: ", candidate.mutant.how(), "; differs at ",
                      candidate.region.positions, " of ", NumElements(candidate.region.shape),
                      " positions; corrector: ", candidate.corrector);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Candidates>> PetFinder::CandidatesOf(const Graph& part) {
  const uint64_t hash = part.StructuralHash();
  auto it = known_.find(hash);
  if (it != known_.end()) {
    ++hits_;
    return it->second;
  }
  auto found = FindCandidates(part, options_.candidates);
  if (absl::IsUnimplemented(found.status()) || absl::IsResourceExhausted(found.status())) {
    found = Candidates();
  }
  if (!found.ok()) return found.status();
  auto candidates = std::make_shared<const Candidates>(*std::move(found));
  if (!options_.candidates.deadline.Passed()) known_[hash] = candidates;
  return candidates;
}

absl::StatusOr<std::vector<PetRule>> PetFinder::RulesFor(const Graph& graph) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Subprogram> parts,
                         SubprogramsOf(graph, options_.subprograms));
  std::vector<PetRule> rules;
  for (const Subprogram& part : parts) {
    if (options_.candidates.deadline.Passed()) break;
    LEMMA_ASSIGN_OR_RETURN(const std::shared_ptr<const Candidates> candidates,
                           CandidatesOf(part.graph));
    for (const Candidate& candidate : candidates->found) {
      const double limit = options_.max_cost * static_cast<double>(candidates->original_cost);
      if (static_cast<double>(candidate.cost) > limit) continue;
      const uint64_t hash =
          HashCombine(part.graph.StructuralHash(), candidate.corrected.StructuralHash());
      auto rule = ProvedGroundRule(absl::StrFormat("pet_%016x", hash), part.graph,
                                   candidate.corrected, DetailOf(candidate));
      if (!rule.ok()) continue;  // it has a non-uniform constant
      rules.push_back({*std::move(rule), part.graph, candidate});
    }
  }
  return rules;
}

}  // namespace lemma::pet
