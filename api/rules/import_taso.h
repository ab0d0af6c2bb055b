// Imports rules in TASO's format, and tries to prove each of them (docs/taso.md).
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
  bool synthesize = true;  // for a false rule, look for the weakest guard that makes it true
  int64_t jobs = 1;        // rules proved at the same time, 1 … 256; verdicts do not depend on it
  std::function<void(int done, int all)> progress;  // called after each rule; may be empty

  absl::Status Check() const;  // InvalidArgument names the option
};

struct ImportedRule {
  Substitution rule;      // if proved, with guard, contract and proof record; else as in the file
  std::string guard;      // the guard that was found; "": none was needed or found
  Verdict without_guard;  // the verdict on the rule as it is in the file
  ProofOutcome outcome;   // of `rule`
  std::string note;       // why no guard was found, or why the rule is not written; may be ""
  bool written = false;   // it goes to `output`: it is proved, and the matcher can search for it

  // Whether the rule is proved, but only under its guard.
  bool guarded() const { return !guard.empty() && outcome.ok(); }
};

struct ImportedTaso {
  std::vector<ImportedRule> rules;
  std::string solver;  // the second solver's name and version; "" if none was used
  double seconds = 0;  // wall-clock time for all rules

  // Whether each rule is proved, and no program that repeats its proof disagrees.
  bool ok() const;
};

// Reads a file of rules in TASO's format, tries to prove each rule, and writes the proved rules
// that the matcher can search for to options.output. Returns an error, and writes no rules, if
//   * an option is out of range, or the output cannot be written;
//   * the file does not exist (NotFound) or has no rules in this format (InvalidArgument); these
//     messages begin with the path;
//   * the second solver or a file of a proof fails;
//   * *options.proof.interrupted becomes true (Cancelled).
absl::StatusOr<ImportedTaso> ImportTasoFile(const std::string& path,
                                            const ImportTasoOptions& options = {});
// The verdicts for people. `output`: the file with the proved rules; "": none.
std::string TextOf(const ImportedTaso& imported, const std::string& output);

}  // namespace lemma::api

#endif  // LEMMA_API_RULES_IMPORT_TASO_H_
