// Makes small changes to the patterns of a rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_

#include <random>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Makes one change to `side`, a side of `rule`: exchanges two operands or outputs, replaces an
// operand or output, replaces an operator by a similar one, removes, repeats or inserts an
// operator, or changes an attribute or a constant. Returns the change in words; "" if the change
// that was drawn is not possible, and then `side` stays as it is. The changed side may be
// ill-formed, or equal to the original.
std::string MutateSide(const Substitution& rule, Pattern* side, std::mt19937_64* random);

// Applies the same operator on both sides to an output, or to a variable, whose readers then read
// the operator's result. So a true claim stays true if it stays well-formed. Returns the change in
// words.
std::string MutateBothSides(Substitution* rule, std::mt19937_64* random);

// Removes nodes that no output depends on, and names the results of the other nodes by position.
// Call it after changes: the results of all inserted nodes have the same name.
void Tidy(Pattern* pattern);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
