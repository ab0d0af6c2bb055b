// Proves that a rule is true or that two graphs are equal. Code: api/proofs.
//
// The prover (verifier/prover/prover.h) gives the answer; a second SMT solver and the small checker
// (verifier/checker) may repeat its proofs. docs/proofs.md says what a proof covers.
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

// How to prove, and which programs repeat the proof.
struct ProofOptions {
  int64_t seed = 1;                     // of the random instances, to search for counterexamples
  int64_t work = ProverOptions().work;  // limit on the steps of a proof
  // A folder, created if missing, for the files of each proof: NAME.proof with
  // its steps (except for graphs at fixed shapes), and NAME.smt2 with its
  // obligations. A proof of a rule with the contract `bounded` gets no files.
  // "": no files.
  std::string proofs;
  std::string recheck;  // the second solver: "cvc5" or a path to it; "": none
  // Whether the small checker repeats each proof, at small sizes. It cannot repeat proofs of rules
  // with the contract `bounded`; ProofOutcome::checked then says so. It cannot repeat proofs about
  // graphs at fixed shapes either; for such graphs Prove returns InvalidArgument.
  bool check = false;
  // May be null. Soon after it becomes true, the function ends with Cancelled.
  const std::atomic<bool>* interrupted = nullptr;
};

// The answer to one claim, and the answers of the programs that repeated its proof.
struct ProofOutcome {
  Verdict verdict = Unknown{"not tried"};
  double seconds = 0;  // time of the proof alone
  // The rule's contract, if the rule is proved; otherwise, and for two graphs, kRealOnly.
  FloatContract promised = FloatContract::kRealOnly;
  // The answers of the second solver (`recheck`), of the small checker's test at small sizes
  // (`checked`), and of its repetition of the steps (`replayed`). Absent if the program was not
  // asked, or if nothing was proved; `replayed` also for a rule with the contract `bounded`.
  std::optional<RecheckResult> recheck;
  std::optional<checker::Checked> checked;
  std::optional<checker::Replayed> replayed;
  absl::Status status;  // an error of a proof's file or of the second solver

  // False if the claim is proved, but with a looser contract than promised.
  bool contract_holds() const;
  // Whether the claim is proved as promised, no other program disagrees, and `status` is OK.
  bool ok() const;
};

struct ProveOptions {
  ProofOptions proof;
  std::map<std::string, int64_t> dims;   // sizes of symbolic dimensions of ONNX models
  std::optional<uint64_t> weights_seed;  // seed of random weights that replace the models' weights
  // Called with a model's path and a decision made while the model was read, one line.
  std::function<void(const std::string&, const std::string&)> note;
};

struct ProveResult {
  ProofOutcome outcome;
  bool symbolic = false;  // whether the answer is for all values of symbols, not for fixed shapes
  std::string solver;     // the second solver's name and version; "" if none was used
};

// Decides whether the graphs in two files are equal. Inputs correspond by
// position, and weights correspond by name. A weight that has the same name and
// values in both files stands for any values. If the graphs differ for some of
// these values, they are refuted only if they also differ with the stored
// values. Files are read as LoadModel reads them. In the text form a size may
// be a symbol; then both files must be in the text form, and the answer is for
// all sizes. Errors: InvalidArgument and NotFound, whose messages begin with
// the file's path or name an option ("option work: …"); FailedPrecondition if
// the second solver cannot be started; Cancelled.
absl::StatusOr<ProveResult> Prove(const std::string& a, const std::string& b,
                                  const ProveOptions& options = {});
// The same for graphs in memory, at their fixed shapes. InvalidArgument if options.check is true.
absl::StatusOr<ProveResult> Prove(const Graph& a, const Graph& b, const ProofOptions& options = {});
// Decides whether the rule is true for all values of its symbols.
absl::StatusOr<ProveResult> Prove(const Substitution& rule, const ProofOptions& options = {});

// The answer for people. `a` and `b` name the graphs.
std::string TextOf(const std::string& a, const std::string& b, const ProveResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_PROVE_H_
