// Lists a statement's requirements on sizes, for people. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_CONDITIONS_H_
#define LEMMA_VERIFIER_PROVER_CONDITIONS_H_

#include <map>
#include <string>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// The requirements as text, each once, in alphabetical order. The value is false if the requirement
// says nothing new: it follows from sizes of inputs being at least 1, or it equals an earlier entry
// once both are simplified.
std::map<std::string, bool> ConditionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_CONDITIONS_H_
