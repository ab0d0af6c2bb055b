// Writes rules as texts. Rules that differ only in names have equal texts.
#ifndef LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
#define LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_

#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Rules with equal texts are equal up to the names and order of variables, symbols, values and
// conditions: they have the same contract, the same matches and the same results. The text does not
// depend on the rule's name, comment or record. The two operands of a commutative operator are
// sorted by the operators that compute them, directly or indirectly, and by the roles of the
// variables in them. If these are the same for both operands, the operands stay in their order: two
// rules that differ only in such an order may have different texts.
std::string CanonicalText(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
