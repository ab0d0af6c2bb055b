// A text by which equal rules are recognized, whatever the names in them.
#ifndef LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
#define LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_

#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Rules with equal texts are equal up to the names and order of variables, symbols, values and
// conditions. They make the same promise, have the same matches and make the same of them. The text
// does not depend on the rule's name, comment or record. Operands of commutative operators are
// sorted where their operators differ; rules that differ only in another order of them may have
// different texts.
std::string CanonicalText(const Substitution& rule);

}  // namespace lemma

#endif  // LEMMA_REWRITE_RULES_CANONICAL_TEXT_H_
