// A text by which equal rules are recognized, whatever the names in them.
#ifndef LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
#define LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_

#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Rules with equal texts are equal up to the names and order of variables, symbols, values and
// conditions: they have the same contract, the same matches and the same results. The text does not
// depend on the rule's name, comment or record. Operands of commutative operators are sorted only
// where different operators compute them; rules that differ in another order of operands may have
// different texts.
std::string CanonicalText(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
