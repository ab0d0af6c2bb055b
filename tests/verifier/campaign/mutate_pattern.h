// Small changes of the patterns of a rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_

#include <random>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Changes one thing of one side: operands exchanged, another operand, an operator exchanged for one
// of its kind, left out, done twice or put between, an attribute, a constant. "" if nothing fits;
// else what was done. The result need not be well-formed.
std::string MutateSide(const Substitution& rule, Pattern* side, std::mt19937_64* random);

// Does one thing to both sides, so that what is true stays so: an operator behind an output or in
// front of a variable. "" if nothing fits.
std::string MutateBothSides(Substitution* rule, std::mt19937_64* random);

// Leaves out what no output needs, and gives the rest names that depend on its place alone.
void Tidy(Pattern* pattern);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
