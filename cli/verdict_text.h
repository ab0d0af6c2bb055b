// The flags of commands that prove, and the texts that show their answers.
#ifndef LEMMA_CLI_VERDICT_TEXT_H_
#define LEMMA_CLI_VERDICT_TEXT_H_

#include <functional>
#include <string>
#include <vector>

#include "api/prove.h"
#include "base/flags.h"
#include "cli/progress_line.h"
#include "verifier/verdict.h"

namespace lemma::cli {

// --proofs, --recheck, --check, --seed, --work.
void AddProofFlags(Flags* flags, api::ProofOptions* options);

// The answers of those who repeated a proof, for a table; "" if there are none.
std::string RecheckCell(const api::ProofOutcome& outcome);
std::string CheckCell(const api::ProofOutcome& outcome);
// Why an outcome is not ok(), in full; empty if it is.
std::vector<std::string> Problems(const api::ProofOutcome& outcome);
// "cvc5 1.0.3: agrees with 12 obligations, disagrees with 0, no answer to 0".
std::string RecheckSummary(const std::string& solver,
                           const std::vector<const api::ProofOutcome*>& outcomes);

// A function that shows "12 of 70 rules, 3 s" on the line, which must outlive it.
std::function<void(int done, int all)> ShowRules(ProgressLine* line);

// The first `width` characters of `text`; "…" replaces the last if there are more.
std::string Shortened(const std::string& text, size_t width);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_VERDICT_TEXT_H_
