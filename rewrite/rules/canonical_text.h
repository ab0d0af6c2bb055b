// Writes rules as texts that are equal for rules that differ only in their names.
#ifndef LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
#define LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_

#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Rules with equal texts are equal up to the names and order of variables, symbols, values and
// conditions: they have the same contract, the same matches and the same results. The text does not
// depend on the rule's name, comment or record. The operands of a commutative operator are sorted
// only if different operators compute them. So two rules that differ only in the order of
// other operands of commutative operators may have different texts.
std::string CanonicalText(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
