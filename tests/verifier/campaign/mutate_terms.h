// Makes small changes to the terms of a rule (expressions over its symbols: sizes, attributes and
// constants), for the mutants of the campaign (mutator.h).
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_

#include <random>
#include <string>
#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// The term with one change: of a constant, a symbol, an operand, an operator, or an element of a
// list. `names` are the rule's symbols. The result often makes no sense; the parser must reject
// such a rule when it reads the rule's text.
Term MutatedTerm(const Term& term, const std::vector<Symbol>& names, std::mt19937_64* random);

// Changes or removes one comparison of the rule's guard (precondition) *where. This often makes the
// guard weaker. Returns false if the guard has no comparison.
bool MutateGuard(std::vector<Comparison>* where, const std::vector<Symbol>& names,
                 std::mt19937_64* random);

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_MUTATE_TERMS_H_
