// Makes small changes to the patterns of a rule, for the mutants of the campaign (mutator.h). A
// pattern is the source or the target of the rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_

#include <random>
#include <string>

#include "rewrite/rules/substitution.h"

namespace lemma {

// Makes one random change to `side`, a side of `rule`: exchanges two operands
// or outputs; replaces an operand or output; replaces an operator by a similar
// one; removes, repeats or inserts an operator; or changes an attribute or a
// constant. Returns a description of the change for people. If the change that
// was drawn is not possible, `side` stays as it is and the result is "". The
// changed side may be ill-formed, or equal to the original.
std::string MutateSide(const Substitution& rule, Pattern* side, std::mt19937_64* random);

// Inserts the same random operator on both sides: behind one output, or between one variable and
// all its readers. So a true rule stays true if it stays well-formed. Returns a description of the
// change for people.
std::string MutateBothSides(Substitution* rule, std::mt19937_64* random);

// Removes the nodes on which no output depends, and gives the results of the other nodes new names
// by position. Call it after changes, since the results of all inserted nodes have the same name.
void Tidy(Pattern* pattern);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_PATTERN_H_
