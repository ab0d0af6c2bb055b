#include "rewrite/rules/proof_check.h"

#include "absl/strings/str_cat.h"
#include "rewrite/rules/statement.h"

namespace lemma {

std::string CurrentProofId(const Substitution& rule) { return ProofId(FormsOf(rule)); }

std::string RecordProblem(const Substitution& rule) {
  const ProofRecord& record = rule.proof;
  switch (record.verdict) {
    case ProofRecord::Verdict::kNone:
      return "it has no proof";
    case ProofRecord::Verdict::kRefuted:
      return absl::StrCat("it is false: ", record.detail);
    case ProofRecord::Verdict::kUnknown:
      return absl::StrCat("it is not proved: ", record.detail);
    case ProofRecord::Verdict::kProved:
      break;
  }
  if (record.contract > rule.contract) {
    return absl::StrCat("it promises ", Name(rule.contract), ", but only ", Name(record.contract),
                        " is proved");
  }
  return "";
}

std::string ProofProblem(const Substitution& rule) {
  std::string problem = RecordProblem(rule);
  if (!problem.empty()) return problem;
  const std::string id = CurrentProofId(rule);
  if (id.empty() || id != rule.proof.id) {
    return "its proof is stale: the rule or an operator's definition has changed since";
  }
  return "";
}

}  // namespace lemma
