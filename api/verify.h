// Verify: is every rule of a file true? Replay: are the proofs in a folder proofs of its rules?
#ifndef LEMMA_API_VERIFY_H_
#define LEMMA_API_VERIFY_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/prove.h"
#include "rewrite/rules/substitution.h"
#include "verifier/checker/checker.h"

namespace lemma::api {

struct VerifyOptions {
  ProofOptions proof;
  std::vector<std::string> only;  // names of the rules to prove; empty: all
  // Where to write the file with each rule's proof record; it may be the file itself. "": nowhere.
  std::string output;
  // Whether a rule that promises a stricter float contract than is proved is written with the one
  // that is.
  bool relax = false;
  int64_t jobs = 1;  // rules proved at the same time, 1 … 256; verdicts do not depend on it
  std::function<void(int done, int all)> progress;

  // InvalidArgument names the option that is out of range or needs another one.
  absl::Status Check() const;
};

struct VerifiedRule {
  Substitution rule;
  ProofOutcome outcome;
  std::string record_problem;  // why the record that the file had is out of date; "" if it is not
};

// Of rules: by their verdicts, and those that are not proved as they promise, or whose record is
// missing or out of date.
struct VerifyCounts {
  int proved = 0, refuted = 0, unknown = 0;
  int64_t failed = 0, outdated = 0;
  int64_t queries = 0;  // to Z3, of the proofs
};

struct VerifyResult {
  std::string file;  // its path, or "built-in rules"
  std::vector<VerifiedRule> rules;
  std::string solver;  // the second solver's name and version; "" if none was asked
  double seconds = 0;

  bool ok() const;  // each rule is proved as it promises, and nobody disagrees
  VerifyCounts counts() const;
};

// Proves each rule of a file for all sizes; "" stands for the built-in rules. Writes the output
// only when all are decided, whatever the answers, and at once. Interrupted, it returns Cancelled
// and writes no records; proof files that are there by then stay.
absl::StatusOr<VerifyResult> Verify(const std::string& rules, const VerifyOptions& options = {});

struct ReplayOptions {
  std::vector<std::string> only;                          // names of rules; empty: all
  std::function<void(const std::string& rule)> progress;  // called before each rule
  const std::atomic<bool>* interrupted = nullptr;         // as in ProofOptions
};

struct ReplayedRule {
  Substitution rule;
  checker::Checked checked;
  checker::Replayed replayed;
  std::string problem;  // why the proof is not accepted; "" if it is
};

struct ReplayResult {
  std::string file;
  std::vector<ReplayedRule> rules;

  int64_t accepted() const;  // how many proofs are
};

// Proves nothing: the small checker looks at each rule at small sizes, and repeats its proof,
// NAME.proof in `folder`, as Verify wrote it. Neither the prover nor a solver runs.
absl::StatusOr<ReplayResult> Replay(const std::string& rules, const std::string& folder,
                                    const ReplayOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_VERIFY_H_
