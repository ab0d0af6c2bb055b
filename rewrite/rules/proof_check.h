// Checks whether a rule's proof record is up to date, that is, proves the rule as it is now.
#ifndef LEMMA_REWRITE_RULES_PROOF_CHECK_H_
#define LEMMA_REWRITE_RULES_PROOF_CHECK_H_

#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The id that a proof of the rule would have now: a hash of the rule's statements and of its
// operators' definitions in this program. "" if the rule has no form (rewrite/rules/statement.h).
std::string CurrentProofId(const Substitution& rule);

// Why the rule must not be applied; "" if it may be. Reasons: it has no record; it was refuted or
// left undecided; the record is of another statement or of other definitions; the rule promises a
// stricter float contract than was proved; its contract is `bounded`, so it is no equality.
//
// Trusts the record in the rule's file: it finds outdated records, not forged ones.
std::string ProofProblem(const Substitution& rule);

// Why the rule's record does not prove the rule as it is now; "" if it does. Unlike ProofProblem,
// accepts rules with the contract `bounded`.
std::string OutdatedRecord(const Substitution& rule);

// As ProofProblem, but does not compare the record's id with the current id, because computing the
// current id takes most of the time. For rules whose id is compared when they are used
// (Coverage::RequireCurrentRecord).
std::string RecordProblem(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_PROOF_CHECK_H_
