// Makes small changes to the patterns of a rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_

#include <random>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Makes one change to one side: exchanges two operands, replaces an operand, replaces an operator
// by one of its kind, removes, repeats or inserts an operator, or changes an attribute or a
// constant. Returns the change in words; "" if none was possible. The result may be ill-formed.
std::string MutateSide(const Substitution& rule, Pattern* side, std::mt19937_64* random);

// Adds the same operator to both sides, behind an output or in front of a variable, so that a true
// claim stays true. "" if none was possible.
std::string MutateBothSides(Substitution* rule, std::mt19937_64* random);

// Removes nodes that no output needs. Names the rest by position.
void Tidy(Pattern* pattern);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
