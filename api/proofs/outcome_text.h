// Outcomes of proofs as text.
#ifndef LEMMA_API_PROOFS_OUTCOME_TEXT_H_
#define LEMMA_API_PROOFS_OUTCOME_TEXT_H_

#include <string>
#include <vector>

#include "api/prove.h"

namespace lemma::api {

// For a table: the answer of the second solver (RecheckCell) or of the small checker (CheckCell),
// which repeated a proof; "" if it did not.
std::string RecheckCell(const ProofOutcome& outcome);
std::string CheckCell(const ProofOutcome& outcome);
// Why an outcome is not ok(), in full; empty if it is.
std::vector<std::string> Problems(const ProofOutcome& outcome);
// The second solver's answers to all of them: "cvc5 1.0.3: agrees with 12 obligations, disagrees
// with 0, no answer to 0".
std::string RecheckSummary(const std::string& solver,
                           const std::vector<const ProofOutcome*>& outcomes);

}  // namespace lemma::api

#endif  // LEMMA_API_PROOFS_OUTCOME_TEXT_H_
