#include "cli/proof_outcome.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "cli/verdict_text.h"
#include "verifier/prover/proof_file.h"

namespace lemma::cli {

void ProofFlags::Add(Flags* flags) {
  flags->String("proofs", &proofs, "DIR",
                "write each proof: NAME.proof, its steps, and NAME.smt2, its obligations");
  flags->String("recheck", &recheck_with, "cvc5",
                "put every obligation to a second solver too; a path to cvc5 will do");
  flags->Bool("check", &check, "repeat every proof with the small checker, at small sizes");
  flags->Int("seed", &seed, "of the instances tried before a proof");
  flags->Int("work", &work,
             "steps after which a proof is given up; 30 million take about a second");
}

bool ProofOutcome::contract_holds() const {
  auto* proved = std::get_if<Proved>(&verdict);
  return proved == nullptr || proved->contract <= promised;
}

bool ProofOutcome::ok() const {
  return IsProved(verdict) && contract_holds() && status.ok() &&
         (!recheck || recheck->disagreed.empty()) &&
         (!checked || checked->answer != checker::Checked::Answer::kDiffers) &&
         (!replayed || replayed->accepted);
}

std::string ProofOutcome::RecheckCell() const {
  if (!recheck) return "";
  std::string cell = absl::StrCat(recheck->agreed, " agreed");
  if (recheck->unknown > 0) absl::StrAppend(&cell, ", ", recheck->unknown, " unknown");
  if (!recheck->disagreed.empty()) {
    absl::StrAppend(&cell, ", ", recheck->disagreed.size(), " DISAGREE");
  }
  return cell;
}

std::string ProofOutcome::CheckCell() const {
  if (!checked) return "";
  std::string cell = checked->answer == checker::Checked::Answer::kDiffers
                         ? "DIFFERS"
                         : absl::StrCat(checked->equal, " instances");
  if (checked->undecided > 0) absl::StrAppend(&cell, ", ", checked->undecided, " undecided");
  if (replayed) {
    absl::StrAppend(&cell, replayed->accepted ? absl::StrCat(", ", replayed->steps, " steps")
                                              : ", steps REJECTED");
  }
  return cell;
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
  return absl::StrCat(solver, ": agrees with ", agreed, " obligations, disagrees with ", disagreed,
                      ", no answer to ", unknown);
}

std::vector<std::string> ProofOutcome::Problems() const {
  std::vector<std::string> problems;
  if (!IsProved(verdict)) {
    problems.push_back(absl::StrCat(IsRefuted(verdict) ? "" : "unknown: ", Explanation(verdict)));
  } else if (!contract_holds()) {
    problems.push_back(absl::StrCat("promises ", Name(promised), ", but only ",
                                    Name(std::get<Proved>(verdict).contract), " is proved"));
  }
  if (recheck) {
    for (const auto& [query, answer] : recheck->disagreed) {
      problems.push_back(absl::StrCat("the second solver DISAGREES, it answers ", answer,
                                      ", to: ", query.about, "\n", query.smt2));
    }
  }
  if (checked && checked->answer == checker::Checked::Answer::kDiffers) {
    problems.push_back(absl::StrCat("the small checker finds a difference: ", checked->detail));
  }
  if (replayed && !replayed->accepted) {
    problems.push_back(absl::StrCat("the small checker rejects the steps: ", replayed->problem));
  }
  return problems;
}

void ProofOutcome::AddTo(Json* json) const {
  AddVerdict(verdict, json);
  json->Set("ok", ok()).Set("seconds", seconds);
  if (recheck) {
    Json disagreed = Json::Array();
    for (const auto& [query, answer] : recheck->disagreed) {
      Json item = Json::Object();
      item.Set("answer", answer);
      item.Set("about", query.about).Set("smt2", query.smt2);
      disagreed.Add(std::move(item));
    }
    Json result = Json::Object();
    result.Set("agreed", recheck->agreed).Set("unknown", recheck->unknown);
    result.Set("disagreed", std::move(disagreed));
    json->Set("recheck", std::move(result));
  }
  if (checked) {
    Json result = Json::Object();
    result.Set("equal", checked->equal).Set("undecided", checked->undecided);
    result.Set("differs", checked->answer == checker::Checked::Answer::kDiffers);
    result.Set("coverage", checked->coverage).Set("detail", checked->detail);
    if (replayed) {
      result.Set("steps_accepted", replayed->accepted).Set("steps", replayed->steps);
      result.Set("step_checks", replayed->checks).Set("problem", replayed->problem);
    }
    json->Set("checker", std::move(result));
  }
}

absl::StatusOr<std::unique_ptr<ProofWorker>> ProofWorker::Create(
    const ProofFlags& flags, const std::atomic<bool>* interrupted) {
  if (flags.work < 1) return absl::InvalidArgumentError("--work: must be at least 1");
  std::unique_ptr<ProofWorker> worker(new ProofWorker(flags, interrupted));
  if (!flags.proofs.empty()) {
    if (absl::Status s = MakeFolder(flags.proofs); !s.ok()) return s;
  }
  if (flags.recheck()) {
    RecheckOptions options;
    options.solver = flags.recheck_with;
    options.interrupted = interrupted;
    auto rechecker = Rechecker::Create(options);
    if (!rechecker.ok()) {
      return absl::Status(rechecker.status().code(),
                          absl::StrCat("--recheck: ", rechecker.status().message()));
    }
    worker->rechecker_ = *std::move(rechecker);
  }
  return worker;
}

ProverOptions ProofWorker::options() const {
  ProverOptions options;
  options.seed = static_cast<uint64_t>(flags_.seed);
  options.work = flags_.work;
  options.interrupted = interrupted_;
  options.keep_obligations = flags_.check || flags_.recheck() || !flags_.proofs.empty();
  return options;
}

ProofOutcome ProofWorker::Prove(const Substitution& rule) {
  ProofOutcome outcome;
  const auto start = std::chrono::steady_clock::now();
  outcome.verdict = ProveRule(rule, options());
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Repeat(rule.name, &rule, &outcome);
  return outcome;
}

absl::Status ProofWorker::WriteFiles(const std::string& name, const Substitution* rule,
                                     const Proved& proved) {
  const std::string base = absl::StrCat(flags_.proofs, "/", FileNameOf(name));
  if (rule != nullptr) {
    absl::Status s = WriteFileAtomically(base + ".proof", {WriteProofFile(*rule, proved)});
    if (!s.ok()) return s;
  }
  return WriteFileAtomically(base + ".smt2", {ObligationScript(name, proved.log)});
}

void ProofWorker::Repeat(const std::string& name, const Substitution* rule, ProofOutcome* outcome) {
  auto* proved = std::get_if<Proved>(&outcome->verdict);
  if (proved == nullptr || (interrupted_ != nullptr && *interrupted_)) return;
  if (rule != nullptr) outcome->promised = rule->contract;
  if (!flags_.proofs.empty()) outcome->status = WriteFiles(name, rule, *proved);
  if (flags_.check && rule != nullptr) {
    // With the record that this proof gives it, not the one that it came with.
    Substitution claim = *rule;
    claim.proof = RecordOf(*rule, outcome->verdict);
    outcome->checked = checker::CheckRule(claim);
    outcome->replayed = checker::ReplayProof(WriteProofFile(claim, *proved), claim);
  }
  if (rechecker_) {
    auto result = rechecker_->Check(proved->log.queries);
    if (result.ok()) {
      outcome->recheck = *std::move(result);
    } else {
      outcome->status = result.status();
    }
  }
  proved->log = {};
}

}  // namespace lemma::cli
