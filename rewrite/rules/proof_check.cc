#include "rewrite/rules/proof_check.h"

#include "absl/strings/str_cat.h"
#include "rewrite/rules/statement.h"

namespace lemma {

std::string CurrentProofId(const Substitution& rule) { return ProofId(FormsOf(rule)); }

namespace {

// The problem of the record, whichever contract it has.
std::string ProblemOfRecord(const Substitution& rule) {
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

constexpr char kBounded[] = "it changes values (bounded)";

}  // namespace

std::string RecordProblem(const Substitution& rule) {
  std::string problem = ProblemOfRecord(rule);
  return problem.empty() && rule.bound ? kBounded : problem;
}

std::string OutdatedRecord(const Substitution& rule) {
  std::string problem = ProblemOfRecord(rule);
  if (!problem.empty()) return problem;
  const std::string id = CurrentProofId(rule);
  if (id.empty() || id != rule.proof.id) {
    return "its proof is stale: the rule or an operator's definition has changed since";
  }
  return "";
}

std::string ProofProblem(const Substitution& rule) {
  std::string problem = OutdatedRecord(rule);
  return problem.empty() && rule.bound ? kBounded : problem;
}

}  // namespace lemma
