#include "cli/verdict_text.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lemma::cli {

void AddProofFlags(Flags* flags, api::ProofOptions* options) {
  flags->String("proofs", &options->proofs, "DIR",
                "write each proof: NAME.proof, its steps, and NAME.smt2, its obligations");
  flags->String("recheck", &options->recheck, "cvc5",
                "put every obligation to a second solver too; a path to cvc5 will do");
  flags->Bool("check", &options->check,
              "repeat every proof with the small checker, at small sizes");
  flags->Int("seed", &options->seed, "of the instances tried before a proof");
  flags->Int("work", &options->work,
             "steps after which a proof is given up; 30 million take about a second");
}

std::string RecheckCell(const api::ProofOutcome& outcome) {
  if (!outcome.recheck) return "";
  std::string cell = absl::StrCat(outcome.recheck->agreed, " agreed");
  if (outcome.recheck->unknown > 0)
    absl::StrAppend(&cell, ", ", outcome.recheck->unknown, " unknown");
  if (!outcome.recheck->disagreed.empty()) {
    absl::StrAppend(&cell, ", ", outcome.recheck->disagreed.size(), " DISAGREE");
  }
  return cell;
}

std::string CheckCell(const api::ProofOutcome& outcome) {
  if (!outcome.checked) return "";
  std::string cell = outcome.checked->answer == checker::Checked::Answer::kDiffers
                         ? "DIFFERS"
                         : absl::StrCat(outcome.checked->equal, " instances");
  if (outcome.checked->undecided > 0)
    absl::StrAppend(&cell, ", ", outcome.checked->undecided, " undecided");
  if (outcome.replayed) {
    absl::StrAppend(&cell, outcome.replayed->accepted
                               ? absl::StrCat(", ", outcome.replayed->steps, " steps")
                               : ", steps REJECTED");
  }
  return cell;
}

std::vector<std::string> Problems(const api::ProofOutcome& outcome) {
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
                           const std::vector<const api::ProofOutcome*>& outcomes) {
  int64_t agreed = 0, unknown = 0, disagreed = 0;
  for (const api::ProofOutcome* outcome : outcomes) {
    if (!outcome->recheck) continue;
    agreed += outcome->recheck->agreed;
    unknown += outcome->recheck->unknown;
    disagreed += static_cast<int64_t>(outcome->recheck->disagreed.size());
  }
  return absl::StrCat(solver, ": agrees with ", agreed, " obligations, disagrees with ", disagreed,
                      ", no answer to ", unknown);
}

std::function<void(int, int)> ShowRules(ProgressLine* line) {
  const auto start = std::chrono::steady_clock::now();
  return [=](int done, int all) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    line->Show(absl::StrFormat("%d of %d rules, %.0f s", done, all, elapsed.count()));
  };
}

std::string Shortened(const std::string& text, size_t width) {
  size_t characters = 0, cut = text.size();
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xc0) == 0x80) continue;  // inside a character
    if (++characters == width) cut = i;
  }
  return characters <= width ? text : text.substr(0, cut) + "…";
}

}  // namespace lemma::cli
