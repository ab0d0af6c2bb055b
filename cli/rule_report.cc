#include "cli/rule_report.h"

namespace lemma::cli {

Json RuleJson(const Substitution& rule, const std::string& problem) {
  Json json = Json::Object();
  json.Set("rule", rule.name).Set("contract", Name(rule.contract)).Set("doc", rule.doc);
  json.Set("guard", GuardText(rule.where));
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
