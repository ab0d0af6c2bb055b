#include "api/proofs/worker.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "api/models/option_error.h"
#include "base/file.h"
#include "verifier/prover/proof_file.h"

namespace lemma::api {
namespace {

// Makes the folder if it is missing, its parents too.
absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (!error && std::filesystem::is_directory(path, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": no folder can be made here",
                   error ? absl::StrCat(": ", error.message()) : std::string()));
}

}  // namespace

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

absl::StatusOr<std::unique_ptr<ProofWorker>> ProofWorker::Create(const ProofOptions& options) {
  if (options.work < 1) return OptionError("option work: must be at least 1");
  std::unique_ptr<ProofWorker> worker(new ProofWorker(options));
  if (!options.proofs.empty()) {
    if (absl::Status s = MakeFolder(options.proofs); !s.ok()) return s;
  }
  if (!options.recheck.empty()) {
    RecheckOptions recheck;
    recheck.solver = options.recheck;
    recheck.interrupted = options.interrupted;
    auto rechecker = Rechecker::Create(recheck);
    if (!rechecker.ok()) {
      return MarkOptionError(
          absl::Status(rechecker.status().code(),
                       absl::StrCat("option recheck: ", rechecker.status().message())));
    }
    worker->rechecker_ = *std::move(rechecker);
  }
  return worker;
}

ProverOptions ProofWorker::options() const {
  ProverOptions options;
  options.seed = static_cast<uint64_t>(options_.seed);
  options.work = options_.work;
  options.interrupted = options_.interrupted;
  options.bounded = true;
  options.keep_obligations =
      options_.check || !options_.recheck.empty() || !options_.proofs.empty();
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
  const std::string base = absl::StrCat(options_.proofs, "/", FileNameOf(name));
  if (rule != nullptr) {
    absl::Status s = WriteFileAtomically(base + ".proof", {WriteProofFile(*rule, proved)});
    if (!s.ok()) return s;
  }
  return WriteFileAtomically(base + ".smt2", {ObligationScript(name, proved.log)});
}

void ProofWorker::Repeat(const std::string& name, const Substitution* rule, ProofOutcome* outcome) {
  auto* proved = std::get_if<Proved>(&outcome->verdict);
  if (proved == nullptr || interrupted()) return;
  if (rule != nullptr) outcome->promised = rule->contract;
  // The steps of a bound are not recorded yet, so nobody can repeat them.
  const bool is_bounded = rule != nullptr && rule->bound.has_value();
  if (!options_.proofs.empty() && !is_bounded) outcome->status = WriteFiles(name, rule, *proved);
  if (options_.check && is_bounded) {
    outcome->checked.emplace();
    outcome->checked->detail = "the checker does not know bounds";
  }
  if (options_.check && rule != nullptr && !is_bounded) {
    // The claim gets the record of this proof in place of its old one.
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

}  // namespace lemma::api
