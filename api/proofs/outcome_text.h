// Formats outcomes of proofs as text.
#ifndef LEMMA_API_PROOFS_OUTCOME_TEXT_H_
#define LEMMA_API_PROOFS_OUTCOME_TEXT_H_

#include <string>
#include <vector>

#include "api/prove.h"

namespace lemma::api {

// Cells of a table: the answers of the second solver (RecheckCell) and of the small checker
// (CheckCell) about a proof; "" if the program did not repeat it.
std::string RecheckCell(const ProofOutcome& outcome);
std::string CheckCell(const ProofOutcome& outcome);
// All reasons why an outcome is not ok(), except an error in outcome.status. Empty: no reason.
std::vector<std::string> Problems(const ProofOutcome& outcome);
// The second solver's answers about all outcomes: "cvc5 1.0.3: agrees with 12 obligations,
// disagrees with 0, no answer to 0". `solver` is its name and version.
std::string RecheckSummary(const std::string& solver,
                           const std::vector<const ProofOutcome*>& outcomes);

}  // namespace lemma::api

#endif  // LEMMA_API_PROOFS_OUTCOME_TEXT_H_
