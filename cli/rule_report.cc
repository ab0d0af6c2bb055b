#include "cli/rule_report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rewrite/rules/rule_text.h"

namespace lemma::cli {

std::string Operators(const Pattern& pattern) {
  std::vector<std::string> names;
  for (const PatternNode& node : pattern.nodes) {
    if (node.op != nullptr) names.push_back(node.op->name);
  }
  return names.empty() ? "nothing" : absl::StrJoin(names, " + ");
}

int CountOperators(const Pattern& pattern) {
  return static_cast<int>(
      std::count_if(pattern.nodes.begin(), pattern.nodes.end(),
                    [](const PatternNode& node) { return node.op != nullptr; }));
}

std::string GuardText(const Substitution& rule) {
  return absl::StrJoin(rule.where, ", ", [](std::string* out, const Comparison& c) {
    absl::StrAppend(out, c.lhs.ToString(), " ", Name(c.relation), " ", c.rhs.ToString());
  });
}

Json RuleJson(const Substitution& rule, const std::string& problem) {
  Json json = Json::Object();
  json.Set("rule", rule.name).Set("contract", Name(rule.contract)).Set("doc", rule.doc);
  json.Set("guard", GuardText(rule));
  json.Set("source", Operators(rule.source)).Set("target", Operators(rule.target));
  json.Set("record", Name(rule.proof.verdict)).Set("usable", problem.empty());
  if (rule.proof.verdict == ProofRecord::Verdict::kProved) {
    json.Set("proved_contract", Name(rule.proof.contract));
  }
  json.Set("id", rule.proof.id).Set("detail", rule.proof.detail).Set("problem", problem);
  json.Set("text", PrintRule(rule));
  return json;
}

}  // namespace lemma::cli
