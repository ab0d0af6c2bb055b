// Small changes of the terms of a rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_

#include <random>
#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The term with one thing changed: a constant, a symbol, an operand, an operator, an element of a
// list. `names`: the rule's symbols. Often the result makes no sense; whoever reads it says so.
Term MutatedTerm(const Term& term, const std::vector<Symbol>& names, std::mt19937_64* random);

// The same of a comparison, or one that is weaker, or none: relaxes a guard.
bool MutateGuard(std::vector<Comparison>* where, const std::vector<Symbol>& names,
                 std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_
