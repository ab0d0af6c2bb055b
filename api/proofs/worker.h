// Proves claims, and lets a second solver and the small checker repeat each proof. Prove, Verify
// and ImportTasoFile use it.
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

// Thread-safe.
class ProofWorker {
 public:
  // Creates the folder options.proofs, and starts the second solver once, so that a missing solver
  // is reported before any work. InvalidArgument if an option is wrong; errors of
  // Rechecker::Create.
  static absl::StatusOr<std::unique_ptr<ProofWorker>> Create(const ProofOptions& options);

  // The second solver's name and version; "" without a second solver.
  std::string solver() const { return rechecker_ ? rechecker_->version() : ""; }
  // Proves the rule and repeats the proof.
  ProofOutcome Prove(const Substitution& rule);
  // Writes the proof in outcome->verdict to files in options.proofs, named after `name`, lets the
  // second solver and the small checker repeat it, and stores their answers in *outcome. Also sets
  // outcome->promised to the rule's contract. Errors go to outcome->status. The proof must have its
  // log, which is dropped afterwards to save memory. `rule` may be null; then only NAME.smt2 is
  // written, and the small checker does not repeat the proof. For a rule with the contract
  // `bounded`, no file is written, and only the second solver repeats the proof. Does nothing if
  // nothing was proved, or once options.interrupted is true.
  void Repeat(const std::string& name, const Substitution* rule, ProofOutcome* outcome);
  // The options with which a claim must be proved before it is passed to Repeat.
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
