// What a statement requires of sizes, for people. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_CONDITIONS_H_
#define LEMMA_VERIFIER_PROVER_CONDITIONS_H_

#include <map>
#include <string>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// The requirements, as text, each once however often it is stated; and whether it says anything:
// whether it does not hold already because sizes of inputs are at least 1.
std::map<std::string, bool> ConditionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_CONDITIONS_H_
