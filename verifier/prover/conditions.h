// Lists a statement's requirements on sizes, for people. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_CONDITIONS_H_
#define LEMMA_VERIFIER_PROVER_CONDITIONS_H_

#include <map>
#include <string>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// Keys: the requirements as text, each once. Values: false if the requirement
// says nothing new: it follows if all sizes of inputs are at least 1, or it
// equals an earlier entry after both are simplified.
std::map<std::string, bool> ConditionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_CONDITIONS_H_
