// One claim after the other proved, and each proof repeated by others.
#ifndef LEMMA_API_PROOFS_WORKER_H_
#define LEMMA_API_PROOFS_WORKER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/prove.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"
#include "verifier/prover/recheck.h"

namespace lemma::api {

// May be used by several threads at once.
class ProofWorker {
 public:
  // Makes the folder and starts the solver once, so that what is missing is said first. Proofs are
  // not repeated once options.interrupted is true.
  static absl::StatusOr<std::unique_ptr<ProofWorker>> Create(const ProofOptions& options);

  // The second solver's name and version; "" if none is asked.
  std::string solver() const { return rechecker_ ? rechecker_->version() : ""; }
  // The proof's log is written or handed on, then dropped.
  ProofOutcome Prove(const Substitution& rule);
  // The same for a claim whose verdict is known, with its log; `name` is for files. `rule`, if any,
  // is what the small checker looks at.
  void Repeat(const std::string& name, const Substitution* rule, ProofOutcome* outcome);
  // Those to prove with.
  ProverOptions options() const;
  bool interrupted() const { return options_.interrupted != nullptr && *options_.interrupted; }

 private:
  explicit ProofWorker(const ProofOptions& options) : options_(options) {}
  absl::Status WriteFiles(const std::string& name, const Substitution* rule, const Proved& proved);

  const ProofOptions options_;
  std::unique_ptr<Rechecker> rechecker_;
};

}  // namespace lemma::api

#endif  // LEMMA_API_PROOFS_WORKER_H_
