// TASO's rules, each decided.
#ifndef LEMMA_API_RULES_IMPORT_TASO_H_
#define LEMMA_API_RULES_IMPORT_TASO_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/prove.h"
#include "rewrite/rules/substitution.h"
#include "verifier/verdict.h"

namespace lemma::api {

struct ImportTasoOptions {
  ProofOptions proof;
  std::string output;      // where to write the proved rules; "": nowhere
  bool synthesize = true;  // look for the weakest guard under which a false rule is true
  int64_t jobs = 1;        // rules proved at the same time, 1 … 256; verdicts do not depend on it
  std::function<void(int done, int all)> progress;

  absl::Status Check() const;  // InvalidArgument names the option
};

struct ImportedRule {
  Substitution rule;      // with its guard, contract and record
  std::string guard;      // "" if none is needed
  Verdict without_guard;  // of the rule as it is in the file
  ProofOutcome outcome;   // of `rule`
  std::string note;       // for people
  bool written = false;   // proved, and to the output if there is one

  // Proved, but only under its guard.
  bool guarded() const { return !guard.empty() && outcome.ok(); }
};

struct ImportedTaso {
  std::vector<ImportedRule> rules;
  std::string solver;  // the second solver's name and version; "" if none was asked
  double seconds = 0;

  bool ok() const;  // all are proved
};

// Reads a file of rules in TASO's format, proves each, and writes those that are proved and that a
// search can look for. Cancelled, and nothing is written, if it was interrupted.
absl::StatusOr<ImportedTaso> ImportTasoFile(const std::string& path,
                                            const ImportTasoOptions& options = {});

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_IMPORT_TASO_H_
