// Verdicts and proof records for people and machines.
#ifndef LEMMA_CLI_VERDICT_TEXT_H_
#define LEMMA_CLI_VERDICT_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "base/json.h"
#include "rewrite/rules/substitution.h"
#include "verifier/prover/prover.h"

namespace lemma::cli {

// What is kept with a rule.
ProofRecord RecordOf(const Substitution& rule, const Verdict& verdict);

// "proved", "refuted", "unknown".
const char* Word(const Verdict& verdict);
// Coverage, counterexample or reason.
std::string Explanation(const Verdict& verdict);
// The verdict's members are added to `json`, an object.
void AddVerdict(const Verdict& verdict, Json* json);

// At most `width` characters, the last a "…" if there were more.
std::string Shortened(const std::string& text, size_t width);

// A name for files: what is neither a letter, a digit, _, - nor . becomes % and two hex digits.
std::string FileNameOf(const std::string& name);
// Makes the folder if it is missing, its parents too.
absl::Status MakeFolder(const std::string& path);

// All obligations as one SMT-LIB 2 script: a solver prints "unsat" for each.
std::string ObligationScript(const std::string& title, const ProofLog& log);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_VERDICT_TEXT_H_
