// Makes claims about every operator of the table.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_

#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// For each example of an operator, the rule that it equals itself, at the example's sizes and at
// open ones (equal sizes are one symbol). True, and useful for mutants only.
std::vector<Substitution> OperatorClaims();

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_
