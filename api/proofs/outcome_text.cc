#include "api/proofs/outcome_text.h"

#include "absl/strings/str_cat.h"
#include "base/text_table.h"

namespace lemma::api {

std::string RecheckCell(const ProofOutcome& outcome) {
  if (!outcome.recheck) return "";
  std::string cell = absl::StrCat(outcome.recheck->agreed, " agreed");
  if (outcome.recheck->unknown > 0)
    absl::StrAppend(&cell, ", ", outcome.recheck->unknown, " unknown");
  if (!outcome.recheck->disagreed.empty()) {
    absl::StrAppend(&cell, ", ", outcome.recheck->disagreed.size(), " DISAGREE");
  }
  return cell;
}

std::string CheckCell(const ProofOutcome& outcome) {
  if (!outcome.checked) return "";
  std::string cell = outcome.checked->answer == checker::Checked::Answer::kDiffers
                         ? "DIFFERS"
                         : FormatCount(outcome.checked->equal, "instance");
  if (outcome.checked->undecided > 0)
    absl::StrAppend(&cell, ", ", outcome.checked->undecided, " undecided");
  if (outcome.replayed) {
    absl::StrAppend(&cell, outcome.replayed->accepted
                               ? absl::StrCat(", ", FormatCount(outcome.replayed->steps, "step"))
                               : ", steps REJECTED");
  }
  return cell;
}

std::vector<std::string> Problems(const ProofOutcome& outcome) {
  std::vector<std::string> problems;
  if (!IsProved(outcome.verdict)) {
    problems.push_back(
        absl::StrCat(IsRefuted(outcome.verdict) ? "" : "unknown: ", Explanation(outcome.verdict)));
  } else if (!outcome.contract_holds()) {
    problems.push_back(absl::StrCat("promises ", Name(outcome.promised), ", but only ",
                                    Name(std::get<Proved>(outcome.verdict).contract),
                                    " is proved"));
  }
  if (outcome.recheck) {
    for (const auto& [query, answer] : outcome.recheck->disagreed) {
      problems.push_back(absl::StrCat("the second solver DISAGREES, it answers ", answer,
                                      ", to: ", query.about, "\n", query.smt2));
    }
  }
  if (outcome.checked && outcome.checked->answer == checker::Checked::Answer::kDiffers) {
    problems.push_back(
        absl::StrCat("the small checker finds a difference: ", outcome.checked->detail));
  }
  if (outcome.replayed && !outcome.replayed->accepted) {
    problems.push_back(
        absl::StrCat("the small checker rejects the steps: ", outcome.replayed->problem));
  }
  return problems;
}

std::string RecheckSummary(const std::string& solver,
                           const std::vector<const ProofOutcome*>& outcomes) {
  int64_t agreed = 0, unknown = 0, disagreed = 0;
  for (const ProofOutcome* outcome : outcomes) {
    if (!outcome->recheck) continue;
    agreed += outcome->recheck->agreed;
    unknown += outcome->recheck->unknown;
    disagreed += static_cast<int64_t>(outcome->recheck->disagreed.size());
  }
  return absl::StrCat(solver, ": agrees with ", FormatCount(agreed, "obligation"),
                      ", disagrees with ", disagreed, ", no answer to ", unknown);
}

}  // namespace lemma::api
