// One rule proved, and its proof repeated by others.
#ifndef LEMMA_CLI_PROOF_OUTCOME_H_
#define LEMMA_CLI_PROOF_OUTCOME_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/flags.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/prover.h"
#include "verifier/prover/recheck.h"

namespace lemma::cli {

// How to prove, and who repeats it.
struct ProofFlags {
  std::string proofs;        // a folder
  std::string recheck_with;  // "": nobody
  bool check = false;        // by the small checker
  int64_t seed = 1, work = ProverOptions().work;

  void Add(Flags* flags);  // --proofs, --recheck, --check, --seed, --work
  bool recheck() const { return !recheck_with.empty(); }
};

struct ProofOutcome {
  Verdict verdict = Unknown{"not tried"};
  double seconds = 0;                                 // of the proof alone
  FloatContract promised = FloatContract::kRealOnly;  // by the rule
  std::optional<RecheckResult> recheck;
  std::optional<checker::Checked> checked;
  std::optional<checker::Replayed> replayed;
  absl::Status status;  // a file that cannot be written, a solver that cannot be started

  // What is proved, if anything, is at least as strict as what is promised.
  bool contract_holds() const;
  // Proved as promised, and nobody disagrees.
  bool ok() const;
  // For a table; "" if not asked or not proved.
  std::string RecheckCell() const;
  std::string CheckCell() const;
  // Why it is not ok(), in full; empty if it is.
  std::vector<std::string> Problems() const;
  void AddTo(Json* json) const;
};

// "cvc5 1.0.3: agrees with 12 obligations, disagrees with 0, no answer to 0".
std::string RecheckSummary(const std::string& solver,
                           const std::vector<const ProofOutcome*>& outcomes);

// May be used by several threads at once.
class ProofWorker {
 public:
  // Makes the folder and starts the solver once, so that what is missing is said first. Proofs end
  // soon after *interrupted becomes true, and are not repeated then.
  static absl::StatusOr<std::unique_ptr<ProofWorker>> Create(const ProofFlags& flags,
                                                             const std::atomic<bool>* interrupted);
  // Its name and version; "" if none is asked.
  std::string solver() const { return rechecker_ ? rechecker_->version() : ""; }
  // The proof's log is written or handed on, then dropped.
  ProofOutcome Prove(const Substitution& rule);
  // The same for a claim whose verdict is known, with its log; `name` is for files.
  // `rule`, if any, is what the small checker looks at.
  void Repeat(const std::string& name, const Substitution* rule, ProofOutcome* outcome);
  // Those to prove with.
  ProverOptions options() const;

 private:
  ProofWorker(const ProofFlags& flags, const std::atomic<bool>* interrupted)
      : flags_(flags), interrupted_(interrupted) {}
  absl::Status WriteFiles(const std::string& name, const Substitution* rule, const Proved& proved);

  const ProofFlags flags_;
  const std::atomic<bool>* const interrupted_;
  std::unique_ptr<Rechecker> rechecker_;
};

}  // namespace lemma::cli

#endif  // LEMMA_CLI_PROOF_OUTCOME_H_
