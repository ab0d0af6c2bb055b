// Lists a statement's requirements on sizes, for people. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_CONDITIONS_H_
#define LEMMA_VERIFIER_PROVER_CONDITIONS_H_

#include <map>
#include <string>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// Keys: the requirements as text, each once. Values: false if the requirement says nothing new,
// because it follows from the sizes of inputs being at least 1, or equals an earlier entry after
// both are simplified.
std::map<std::string, bool> ConditionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_CONDITIONS_H_
