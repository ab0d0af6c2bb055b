// Selects the rewrites that a search may use; by default only proved ones.
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
  // The loosest float contract that is accepted.
  FloatContract numerics = FloatContract::kReassociates;
  std::set<std::string> disabled;  // names of rules that are not accepted
  std::set<std::string> only;      // names of rules that are accepted; empty: all
  bool allow_unproved = false;

  // Whether the filter asks for a rule of this name and contract. The rule's proof record has no
  // effect.
  bool AsksFor(const std::string& name, FloatContract contract) const;
  // Whether AsksFor() is true and, unless `allow_unproved` is set, the rule's record says that the
  // rule is proved.
  bool Accepts(const Rewrite& rewrite) const;
  bool Accepts(const Substitution& rule) const;
};

struct UnprovedRule {
  std::string name;
  std::string problem;  // ProofProblem in rewrite/rules/proof_check.h
};
// The rules that the filter asks for but whose records do not prove them, in order. Unless
// `allow_unproved` is set, the caller must disable these rules or report an error. Accepts excludes
// only some of them: it looks at a record's verdict, but not at its float contract, nor at whether
// the record is up to date. With RecordCheck::kWhenUsed, the ids of records are not compared here.
std::vector<UnprovedRule> UnprovedRules(absl::Span<const Substitution> rules,
                                        const RewriteFilter& filter,
                                        RecordCheck records = RecordCheck::kBefore);

// The rewrites of `source` that the filter accepts. `source` must outlive the result.
std::unique_ptr<RewriteSource> Filtered(const RewriteSource* source, RewriteFilter filter);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_SEARCH_REWRITE_FILTER_H_
