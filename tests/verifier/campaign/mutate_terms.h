// Makes small changes to the terms of a rule.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_

#include <random>
#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The term with one change: a constant, a symbol, an operand, an operator, or an element of a list.
// `names`: the rule's symbols. The result often makes no sense; its reader must reject it.
Term MutatedTerm(const Term& term, const std::vector<Symbol>& names, std::mt19937_64* random);

// Changes or removes one comparison of a guard; often that makes it weaker. False, without any
// change, if there is none.
bool MutateGuard(std::vector<Comparison>* where, const std::vector<Symbol>& names,
                 std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_
