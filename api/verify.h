// Proves every rule of a file, or repeats the proofs of its rules from proof files. Code:
// api/proofs.
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
  // Where to write the rules with the new proof records; the same file is allowed. "": nowhere.
  std::string output;
  // Whether to write a rule with the proved float contract if it promises a stricter one.
  bool relax = false;
  int64_t jobs = 1;  // rules proved at the same time, 1 … 256; verdicts do not depend on it
  std::function<void(int done, int all)> progress;

  // InvalidArgument names the option that is out of range or needs another one.
  absl::Status Check() const;
};

struct VerifiedRule {
  Substitution rule;  // as read
  ProofOutcome outcome;
  // Why the record in the file is missing, out of date or no proof (ProofProblem in
  // rewrite/rules/proof_check.h); "" if it is a current proof.
  std::string record_problem;
};

// Numbers of rules.
struct VerifyCounts {
  int proved = 0, refuted = 0, unknown = 0;
  // failed: rules whose outcome.ok() is false. outdated: rules with a record_problem.
  int64_t failed = 0, outdated = 0;
  int64_t queries = 0;  // to Z3, of all proofs
};

struct VerifyResult {
  std::string file;  // its path, or "built-in rules"
  std::vector<VerifiedRule> rules;
  std::string solver;  // the second solver's name and version; "" if none was used
  double seconds = 0;  // for all proofs

  // Whether each rule is proved as promised, and no program that repeats its proof disagrees.
  bool ok() const;
  VerifyCounts counts() const;
};

// Proves each rule of a file for all sizes. `rules` is a file or a built-in set (LoadRulesFile in
// api/rules/rules_file.h); "": all built-in rules. Writes the output when all rules are decided,
// whatever the answers. After an interruption it returns Cancelled and writes no records; proof
// files already written stay.
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
  std::string file;  // as in VerifyResult
  std::vector<ReplayedRule> rules;

  int64_t accepted() const;  // the number of accepted proofs
};

// Lets the small checker test each rule at small sizes and repeat its proof, the file NAME.proof in
// `folder` that Verify wrote. Runs neither the prover nor a solver. `rules` as in Verify. NotFound
// if there is no such folder; Cancelled if interrupted. A missing proof is not an error but the
// rule's `problem`.
absl::StatusOr<ReplayResult> Replay(const std::string& rules, const std::string& folder,
                                    const ReplayOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_VERIFY_H_
