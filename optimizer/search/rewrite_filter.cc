#include "optimizer/search/rewrite_filter.h"

#include <utility>

#include "rewrite/rules/proof_check.h"

namespace lemma::optimizer {
namespace {

class FilteredSource : public RewriteSource {
 public:
  FilteredSource(const RewriteSource* source, RewriteFilter filter)
      : source_(source), filter_(std::move(filter)) {}

  std::vector<const PreparedRule*> Rules() const override {
    std::vector<const PreparedRule*> rules;
    for (const PreparedRule* rule : source_->Rules()) {
      if (filter_.Accepts(rule->rule())) rules.push_back(rule);
    }
    return rules;
  }
  void ForEach(const MatchIndex& index,
               absl::FunctionRef<bool(const Rewrite&)> visit) const override {
    source_->ForEach(
        index, [&](const Rewrite& rewrite) { return !filter_.Accepts(rewrite) || visit(rewrite); });
  }

 private:
  const RewriteSource* const source_;
  const RewriteFilter filter_;
};

}  // namespace

bool RewriteFilter::AsksFor(const std::string& name, FloatContract contract) const {
  return contract <= numerics && disabled.count(name) == 0 &&
         (only.empty() || only.count(name) > 0);
}

bool RewriteFilter::Accepts(const Rewrite& rewrite) const {
  return AsksFor(rewrite.name(), rewrite.contract()) &&
         (allow_unproved || rewrite.proof().verdict == ProofRecord::Verdict::kProved);
}

bool RewriteFilter::Accepts(const Substitution& rule) const {
  return AsksFor(rule.name, rule.contract) &&
         (allow_unproved || rule.proof.verdict == ProofRecord::Verdict::kProved);
}

std::vector<UnprovedRule> UnprovedRules(absl::Span<const Substitution> rules,
                                        const RewriteFilter& filter, RecordCheck records) {
  std::vector<UnprovedRule> unproved;
  for (const Substitution& rule : rules) {
    if (!filter.AsksFor(rule.name, rule.contract)) continue;
    std::string problem =
        records == RecordCheck::kBefore ? ProofProblem(rule) : RecordProblem(rule);
    if (!problem.empty()) unproved.push_back({rule.name, std::move(problem)});
  }
  return unproved;
}

std::unique_ptr<RewriteSource> Filtered(const RewriteSource* source, RewriteFilter filter) {
  return std::make_unique<FilteredSource>(source, std::move(filter));
}

}  // namespace lemma::optimizer
