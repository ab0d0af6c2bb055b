// Asks a second solver, run as a separate program, to confirm the obligations of a proof.
#ifndef LEMMA_VERIFIER_PROVER_RECHECK_H_
#define LEMMA_VERIFIER_PROVER_RECHECK_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "verifier/prover/prover.h"

namespace lemma {

struct RecheckOptions {
  std::string solver = "cvc5";  // the program cvc5: its name, to look up in PATH, or its path
  int64_t rlimit = 200000;      // limit per query, in the solver's own steps
  // Limit per query in wall-clock time, in case the step limit does not apply.
  int64_t milliseconds = 20000;
  // Check ends if this is true. It looks before each batch of up to 64 queries; queries without an
  // answer then count as unknown. Not owned; nullptr: never interrupted.
  const std::atomic<bool>* interrupted = nullptr;
};

struct RecheckResult {
  int64_t agreed = 0;   // number of queries that are unsatisfiable for this solver too
  int64_t unknown = 0;  // number of queries without an answer within the limits
  // The solver answered "satisfiable" or rejected the query as malformed. `answer` is its output.
  struct Disagreement {
    ProofLog::Query query;
    std::string answer;
  };
  std::vector<Disagreement> disagreed;
};

// Runs the second solver on queries. Thread-safe. Remembers the answers for later calls.
class Rechecker {
 public:
  // FailedPrecondition if the solver cannot be started or is not cvc5.
  static absl::StatusOr<std::unique_ptr<Rechecker>> Create(const RecheckOptions& options);

  const std::string& version() const { return version_; }
  // The solver's answers. Equal queries count once. FailedPrecondition if the solver cannot be run;
  // ResourceExhausted if its input cannot be written.
  absl::StatusOr<RecheckResult> Check(const std::vector<ProofLog::Query>& queries);

 private:
  explicit Rechecker(RecheckOptions options) : options_(std::move(options)) {}
  // Answers to a prefix of `scripts`, at least one answer: "unsat", "sat", "unknown" or an error.
  // The prefix is shorter if the solver stops early. A script at which it stops silently is
  // unknown.
  absl::StatusOr<std::vector<std::string>> Ask(
      const std::vector<const std::string*>& scripts) const;

  const RecheckOptions options_;
  std::string version_;
  std::mutex mutex_;
  std::map<std::string, std::string> answers_;  // by script; guarded by mutex_
};

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_RECHECK_H_
