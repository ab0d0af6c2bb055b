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
  // Where to write the rules with the new proof records ("": nowhere). It may be the file that is
  // read.
  std::string output;
  // Whether to write a rule with the proved float contract if it promises a stricter one.
  bool relax = false;
  int64_t jobs = 1;  // rules proved at the same time, 1 … 256; verdicts do not depend on it
  std::function<void(int done, int all)> progress;  // called after each rule; may be empty

  // InvalidArgument names the option that is out of range or needs another option.
  absl::Status Check() const;
};

struct VerifiedRule {
  Substitution rule;  // as read
  ProofOutcome outcome;
  // Why the record in the file is not a current proof (OutdatedRecord in
  // rewrite/rules/proof_check.h); "" if it is.
  std::string record_problem;
};

struct VerifyCounts {
  int proved = 0, refuted = 0, unknown = 0;  // numbers of rules by verdict
  // Numbers of rules. failed: outcome.ok() is false. outdated: record_problem is not empty.
  int64_t failed = 0, outdated = 0;
  int64_t queries = 0;  // number of queries to Z3 in the proofs of all proved rules
};

struct VerifyResult {
  std::string file;  // its path, or the name of a built-in set (RulesFile::name)
  std::vector<VerifiedRule> rules;
  std::string solver;  // the second solver's name and version; "" if none was used
  double seconds = 0;  // wall-clock time for all rules

  // Whether ProofOutcome::ok (api/prove.h) is true for each rule: the rule is proved with the float
  // contract that it promises, no program that repeats the proof disagrees, and no error occurred.
  bool ok() const;
  VerifyCounts counts() const;
};

// Tries to prove each selected rule, for all sizes. `rules` is as in LoadRulesFile
// (api/rules/rules_file.h); "": all built-in rules. Writes `options.output` once all selected rules
// are decided, whatever the verdicts are. Writes no records if it returns an error: Cancelled after
// an interruption, or an error of a file, an option or the second solver. Proof files that are
// already written stay.
absl::StatusOr<VerifyResult> Verify(const std::string& rules, const VerifyOptions& options = {});
// The verdicts for people: a table, the problems, and the counts. `options`: as for Verify.
std::string TextOf(const VerifyResult& result, const VerifyOptions& options);

struct ReplayOptions {
  std::vector<std::string> only;                          // names of rules; empty: all
  std::function<void(const std::string& rule)> progress;  // called before each rule
  const std::atomic<bool>* interrupted = nullptr;         // as in ProofOptions
};

struct ReplayedRule {
  Substitution rule;
  checker::Checked checked;    // the test at small sizes; not done if there is no proof file
  checker::Replayed replayed;  // the repetition of the proof; not done if there is no proof file
  std::string problem;         // why the proof is not accepted; "" if it is
};

struct ReplayResult {
  std::string file;  // as in VerifyResult
  std::vector<ReplayedRule> rules;

  int64_t accepted() const;  // the number of accepted proofs
};

// Lets the small checker test each rule at small sizes and repeat its proof. Verify wrote the proof
// to the file NAME.proof in `folder` (ProofOptions::proofs). Runs neither the prover nor a solver.
// `rules` is as in Verify, but rules with the contract `bounded` are an error. NotFound if there is
// no such folder; Cancelled if interrupted. A missing proof is not an error: the rule's `problem`
// names its file.
absl::StatusOr<ReplayResult> Replay(const std::string& rules, const std::string& folder,
                                    const ReplayOptions& options = {});
// The result for people.
std::string TextOf(const ReplayResult& result);

}  // namespace lemma::api

#endif  // LEMMA_API_VERIFY_H_
