// Verify proves every rule of a file. Replay checks that the proof files in a folder prove the
// rules of a file. Code: api/proofs.
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
  // Whether to write a rule with the proved float contract if it promises a stricter one.
  bool relax = false;
  int64_t jobs = 1;  // rules proved at the same time, 1 … 256; verdicts do not depend on it
  std::function<void(int done, int all)> progress;

  // InvalidArgument names the option that is out of range or needs another one.
  absl::Status Check() const;
};

struct VerifiedRule {
  Substitution rule;
  ProofOutcome outcome;
  std::string record_problem;  // why the record in the file is out of date; "" if it is current
};

// Numbers of rules.
struct VerifyCounts {
  int proved = 0, refuted = 0, unknown = 0;
  // failed: rules that are not proved as promised, or whose proof another program does not confirm.
  // outdated: rules with a record that is missing or out of date.
  int64_t failed = 0, outdated = 0;
  int64_t queries = 0;  // to Z3, of all proofs
};

struct VerifyResult {
  std::string file;  // its path, or "built-in rules"
  std::vector<VerifiedRule> rules;
  std::string solver;  // the second solver's name and version; "" if none was used
  double seconds = 0;

  // Whether each rule is proved as promised, and no program that repeats its proof disagrees.
  bool ok() const;
  VerifyCounts counts() const;
};

// Proves each rule of a file for all sizes; "" stands for the built-in rules. Writes the output
// when all rules are decided, whatever the answers. After an interruption it returns Cancelled and
// writes no records; proof files already written stay.
absl::StatusOr<VerifyResult> Verify(const std::string& rules, const VerifyOptions& options = {});

struct ReplayOptions {
  std::vector<std::string> only;                          // names of rules; empty: all
  std::function<void(const std::string& rule)> progress;  // called before each rule
  const std::atomic<bool>* interrupted = nullptr;         // as in ProofOptions
};

struct ReplayedRule {
  Substitution rule;
  checker::Checked checked;    // the test at small sizes
  checker::Replayed replayed;  // the repetition of the proof file
  std::string problem;         // why the proof is not accepted; "" if it is
};

struct ReplayResult {
  std::string file;
  std::vector<ReplayedRule> rules;

  int64_t accepted() const;  // the number of accepted proofs
};

// Lets the small checker test each rule at small sizes and repeat its proof, the file NAME.proof in
// `folder` that Verify wrote. Runs neither the prover nor a solver. NotFound if there is no such
// folder.
absl::StatusOr<ReplayResult> Replay(const std::string& rules, const std::string& folder,
                                    const ReplayOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_VERIFY_H_
