// Whether a rule's proof record is a proof of what the rule says now.
#ifndef LEMMA_REWRITE_RULES_PROOF_CHECK_H_
#define LEMMA_REWRITE_RULES_PROOF_CHECK_H_

#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The id that a proof of the rule has: of its statement and of its operators' definitions as they
// are in this program. "" if it cannot be stated.
std::string CurrentProofId(const Substitution& rule);

// Why the rule must not be applied: it has no record; was refuted or left open; the record is of
// another statement, or of other definitions; or the rule promises a stricter float contract than
// was proved. "" if there is no reason.
//
// The record is what its file says: this finds what is out of date, not a forgery.
std::string ProofProblem(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_PROOF_CHECK_H_
