// A second opinion: the obligations of a proof, put to another solver as a program of its own.
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
  std::string solver = "cvc5";  // a name looked up in PATH, or a path
  int64_t rlimit = 200000;      // per query, in the solver's own steps
  // Whatever the step limit misses, in wall-clock time.
  int64_t milliseconds = 20000;
  // Set, it ends what is being done; what was not answered then counts as unknown.
  const std::atomic<bool>* interrupted = nullptr;
};

struct RecheckResult {
  int64_t agreed = 0;   // unsatisfiable here too
  int64_t unknown = 0;  // no answer within the limits
  // Satisfiable here, or refused as malformed; `answer` is what the solver said.
  struct Disagreement {
    ProofLog::Query query;
    std::string answer;
  };
  std::vector<Disagreement> disagreed;
};

// May be used by several threads at once. A query is asked once, however often it comes.
class Rechecker {
 public:
  // FailedPrecondition if the solver cannot be started.
  static absl::StatusOr<std::unique_ptr<Rechecker>> Create(const RecheckOptions& options);

  const std::string& version() const { return version_; }
  // Counts each different query of `queries` once.
  absl::StatusOr<RecheckResult> Check(const std::vector<ProofLog::Query>& queries);

 private:
  explicit Rechecker(RecheckOptions options) : options_(std::move(options)) {}
  // Answers to the first scripts, at least one: "unsat", "sat", "unknown" or an error. A solver
  // that stops early leaves the rest; what it stopped at without a word is unknown.
  absl::StatusOr<std::vector<std::string>> Ask(
      const std::vector<const std::string*>& scripts) const;

  const RecheckOptions options_;
  std::string version_;
  std::mutex mutex_;
  std::map<std::string, std::string> answers_;  // by script; guarded by mutex_
};

}  // namespace lemma

#endif  // LEMMA_VERIFIER_PROVER_RECHECK_H_
