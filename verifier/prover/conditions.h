// Lists a statement's requirements on sizes, for people. Internal to the prover.
#ifndef LEMMA_VERIFIER_PROVER_CONDITIONS_H_
#define LEMMA_VERIFIER_PROVER_CONDITIONS_H_

#include <map>
#include <string>

#include "rewrite/rules/statement.h"

namespace lemma::prover {

// The requirements as text, each once. The value is true if the requirement says something new: it
// does not already hold because sizes of inputs are at least 1, and, once simplified, it is not
// equal to one before it in the map.
std::map<std::string, bool> ConditionsOf(const Statement& statement);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_PROVER_CONDITIONS_H_
