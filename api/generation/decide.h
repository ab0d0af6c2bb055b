// Decides one candidate of the generator: proved, true under a guard, refuted or unknown.
#ifndef LEMMA_API_GENERATION_DECIDE_H_
#define LEMMA_API_GENERATION_DECIDE_H_

#include <atomic>
#include <cstdint>

#include "generator/run/generate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// Proves the candidate for all sizes, or finds the guard under which it is true
// (verifier/preconditions/precondition.h). A proved rule for which the matcher cannot search is
// "unknown", too. Work is limited by a number of steps, not by time. `seed` chooses the random
// instances that are tried. `interrupted` may be null; if it is true on return, the caller must
// ignore the decision.
generator::Decision Decide(const Substitution& candidate, uint64_t seed,
                           const std::atomic<bool>* interrupted);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_DECIDE_H_
