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

void AddVerdict(const Verdict& verdict, Json* json) {
  json->Set("verdict", Word(verdict));
  if (auto* proved = std::get_if<Proved>(&verdict)) {
    json->Set("contract", Name(proved->contract)).Set("coverage", proved->coverage);
    json->Set("id", proved->id).Set("queries", proved->queries).Set("work", proved->work);
  } else if (auto* refuted = std::get_if<Refuted>(&verdict)) {
    Json values = Json::Object(), index = Json::Array();
    for (const auto& [name, value] : refuted->values) values.Set(name, value);
    json->Set("values", std::move(values)).Set("seed", static_cast<int64_t>(refuted->seed));
    json->Set("output", refuted->output);
    if (refuted->shapes_differ()) {
      Json source = Json::Array(), target = Json::Array();
      for (int64_t size : refuted->source_shape) source.Add(size);
      for (int64_t size : refuted->target_shape) target.Add(size);
      json->Set("source_shape", std::move(source)).Set("target_shape", std::move(target));
      return;
    }
    for (int64_t i : refuted->index) index.Add(i);
    json->Set("index", std::move(index));
    json->Set("source", refuted->source).Set("target", refuted->target);
  } else {
    json->Set("reason", std::get<Unknown>(verdict).reason);
  }
}

void AddOutcome(const api::ProofOutcome& outcome, Json* json) {
  AddVerdict(outcome.verdict, json);
  json->Set("ok", outcome.ok()).Set("seconds", outcome.seconds);
  if (outcome.recheck) {
    Json disagreed = Json::Array();
    for (const auto& [query, answer] : outcome.recheck->disagreed) {
      Json item = Json::Object();
      item.Set("answer", answer);
      item.Set("about", query.about).Set("smt2", query.smt2);
      disagreed.Add(std::move(item));
    }
    Json result = Json::Object();
    result.Set("agreed", outcome.recheck->agreed).Set("unknown", outcome.recheck->unknown);
    result.Set("disagreed", std::move(disagreed));
    json->Set("recheck", std::move(result));
  }
  if (outcome.checked) {
    Json result = Json::Object();
    result.Set("equal", outcome.checked->equal).Set("undecided", outcome.checked->undecided);
    result.Set("differs", outcome.checked->answer == checker::Checked::Answer::kDiffers);
    result.Set("coverage", outcome.checked->coverage).Set("detail", outcome.checked->detail);
    if (outcome.replayed) {
      result.Set("steps_accepted", outcome.replayed->accepted)
          .Set("steps", outcome.replayed->steps);
      result.Set("step_checks", outcome.replayed->checks).Set("problem", outcome.replayed->problem);
    }
    json->Set("checker", std::move(result));
  }
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
