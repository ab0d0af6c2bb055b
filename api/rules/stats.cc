#include "api/rules/stats.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text_table.h"
#include "rewrite/rules/proof_check.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::api {
namespace {

std::map<std::string, int> OperatorCounts(const Pattern& pattern) {
  std::map<std::string, int> counts;
  for (const PatternNode& node : pattern.nodes) {
    if (node.op != nullptr) ++counts[node.op->name];
  }
  return counts;
}

const char* KindOf(const Substitution& rule) {
  const auto source = OperatorCounts(rule.source), target = OperatorCounts(rule.target);
  if (source == target) return source.size() == 1 ? "associates" : "commutes";
  const int from = CountOperators(rule.source), to = CountOperators(rule.target);
  return to < from ? "fewer operators" : to > from ? "more operators" : "other operators";
}

}  // namespace

RuleStats StatsOf(const std::vector<Substitution>& rules) {
  RuleStats stats;
  for (const Substitution& rule : rules) {
    ++stats.rules;
    stats.usable += ProofProblem(rule).empty() ? 1 : 0;
    const bool stale =
        rule.proof.verdict == ProofRecord::Verdict::kProved && !OutdatedRecord(rule).empty();
    ++stats.records[stale ? "stale" : Name(rule.proof.verdict)];
    ++stats.contracts[Name(rule.contract)];
    ++stats.kinds[KindOf(rule)];
    stats.guarded += rule.where.empty() ? 0 : 1;
    stats.several_outputs += rule.source.outputs.size() > 1 ? 1 : 0;
    ++stats.sizes[{CountOperators(rule.source), CountOperators(rule.target)}];
    for (const auto& [name, count] : OperatorCounts(rule.source)) ++stats.operators[name].source;
    for (const auto& [name, count] : OperatorCounts(rule.target)) ++stats.operators[name].target;
  }
  return stats;
}

std::string TextOf(const RuleStats& stats) {
  std::string text = absl::StrFormat(
      "%s, %d of them usable, %d with a guard, %d with several outputs\n\n",
      FormatCount(stats.rules, "rule"), stats.usable, stats.guarded, stats.several_outputs);
  auto add = [&](const char* what, const std::map<std::string, int>& counts) {
    for (const auto& [name, count] : counts) {
      absl::StrAppendFormat(&text, "%-10s %-16s %6d\n", what, name, count);
      what = "";
    }
  };
  add("record", stats.records);
  add("contract", stats.contracts);
  add("kind", stats.kinds);
  TextTable sizes({"operators of the source", "of the target", "rules"});
  for (const auto& [size, count] : stats.sizes) {
    sizes.Row({absl::StrCat(size.first), absl::StrCat(size.second), absl::StrCat(count)});
  }
  TextTable operators({"operator", "rules with it in the source", "in the target"});
  for (const auto& [name, use] : stats.operators) {
    operators.Row({name, absl::StrCat(use.source), absl::StrCat(use.target)});
  }
  return absl::StrCat(text, "\n", sizes.ToString(), "\n", operators.ToString());
}

}  // namespace lemma::api
