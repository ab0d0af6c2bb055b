// Makes rules about every operator of the operator table. The campaign makes mutants from them.
#ifndef LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_
#define LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_

#include <vector>

#include "rewrite/rules/substitution.h"

namespace lemma {

// For each example of an operator (graph/examples/op_examples.h), two rules that say that the
// operator equals itself: one at the example's sizes, and one where each size above 1 is a symbol
// (equal sizes are the same symbol) and the element type of f32 operands is left open. Examples
// that give no valid rule are left out, such as those with empty inputs. The rules are trivially
// true.
std::vector<Substitution> OperatorClaims();

}  // namespace lemma

#endif  // LEMMA_TESTS_VERIFIER_CAMPAIGN_OPERATOR_CLAIMS_H_
