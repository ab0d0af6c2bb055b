// Prove: is a rule true, are two graphs equal?
//
// The prover answers (verifier/prover/prover.h); a second solver and the small checker may repeat
// what it proved. docs/proofs.md says what a proof is worth.
#ifndef LEMMA_API_PROVE_H_
#define LEMMA_API_PROVE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"
#include "verifier/checker/checker.h"
#include "verifier/prover/recheck.h"
#include "verifier/verdict.h"

namespace lemma::api {

// How to prove, and who repeats the proof.
struct ProofOptions {
  int64_t seed = 1;                     // of the instances that are tried before a proof
  int64_t work = ProverOptions().work;  // steps after which a proof is given up
  // A folder, made if it is missing, for the files of each proof: NAME.proof, its steps, and
  // NAME.smt2, its obligations. "": none are written.
  std::string proofs;
  std::string recheck;  // the second solver: "cvc5" or a path to it; "": none
  bool check = false;   // whether the small checker repeats each proof, at small sizes
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
};

// The answer to one claim, and what those who repeated its proof say.
struct ProofOutcome {
  Verdict verdict = Unknown{"not tried"};
  double seconds = 0;                                 // that the proof alone took
  FloatContract promised = FloatContract::kRealOnly;  // by the rule
  std::optional<RecheckResult> recheck;
  std::optional<checker::Checked> checked;
  std::optional<checker::Replayed> replayed;
  absl::Status status;  // a file that cannot be written, a solver that cannot be started

  // Whether what is proved, if anything, is at least as strict as what is promised.
  bool contract_holds() const;
  // Whether the claim is proved as promised, and nobody disagrees.
  bool ok() const;
};

struct ProveOptions {
  ProofOptions proof;
  std::map<std::string, int64_t> dims;   // sizes of symbolic dimensions of ONNX models
  std::optional<uint64_t> weights_seed;  // fills weights with random values
  // Called with a model's path and a decision made while it was read, one line.
  std::function<void(const std::string&, const std::string&)> note;
};

struct ProveResult {
  ProofOutcome outcome;
  bool symbolic = false;  // the answer is for all values of symbols, not for one shape
  std::string solver;     // the second solver's name and version; "" if none was asked
};

// Are two graphs equal? Inputs correspond by position, weights by name. Files are read as
// LoadModel reads them; in the text form a size may be a symbol, and then the answer is for all
// sizes. Errors begin with the file's path, or name an option, as in "option work":
// InvalidArgument, NotFound, FailedPrecondition if the second solver cannot be started, Cancelled.
absl::StatusOr<ProveResult> Prove(const std::string& a, const std::string& b,
                                  const ProveOptions& options = {});
// The same for graphs at their shapes. The small checker cannot look at these.
absl::StatusOr<ProveResult> Prove(const Graph& a, const Graph& b, const ProofOptions& options = {});
// Is the rule true for all values of its symbols?
absl::StatusOr<ProveResult> Prove(const Substitution& rule, const ProofOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_PROVE_H_
