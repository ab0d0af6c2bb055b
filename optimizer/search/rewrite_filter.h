// Which of a source's rewrites may be used: proved ones, if nothing else is said.
#ifndef LEMMA_OPTIMIZER_SEARCH_REWRITE_FILTER_H_
#define LEMMA_OPTIMIZER_SEARCH_REWRITE_FILTER_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma::optimizer {

struct RewriteFilter {
  // The weakest contract that is acceptable.
  FloatContract numerics = FloatContract::kReassociates;
  std::set<std::string> disabled;
  std::set<std::string> only;  // empty: all
  bool allow_unproved = false;

  // What the name and the contract allow.
  bool Asks(const std::string& name, FloatContract contract) const;
  // What, besides, is recorded as proved.
  bool Accepts(const Rewrite& rewrite) const;
  bool Accepts(const Substitution& rule) const;
};

struct UnprovedRule {
  std::string name;
  std::string problem;  // ProofProblem in rewrite/rules/proof_check.h
};
// Those of `rules` that the filter asks for but whose record is no proof of them, in their order. A
// search should not be begun with any, unless the filter allows them: Accepts sees records, not
// whether they are up to date.
std::vector<UnprovedRule> UnprovedRules(absl::Span<const Substitution> rules,
                                        const RewriteFilter& filter);

// The rewrites of `source`, which must outlive it, that the filter accepts.
std::unique_ptr<RewriteSource> Filtered(const RewriteSource* source, RewriteFilter filter);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_REWRITE_FILTER_H_
