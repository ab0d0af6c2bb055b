// Makes claims about every operator of the table.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_

#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// For each example of an operator, the rules that the operator equals itself: at the example's
// sizes, and at symbolic ones (equal sizes are one symbol). Examples that are no rule are left out.
// The rules are trivially true; mutants are made from them.
std::vector<Substitution> OperatorClaims();

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_
