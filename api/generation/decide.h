// Decides one candidate of the generator: proved, true under a guard, refuted or unknown.
#ifndef LEMMA_API_GENERATION_DECIDE_H_
#define LEMMA_API_GENERATION_DECIDE_H_

#include <atomic>
#include <cstdint>

#include "generator/run/generate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// Proves the candidate for all sizes, or finds the guard under which it is true
// (verifier/preconditions/precondition.h). The answer is also "unknown" if the rule is proved but
// the matcher cannot search for it. Work is limited by a number of steps, not by time. `seed`
// chooses the random instances that are tried. `interrupted` may be null; once it is true, the
// decision is meaningless.
generator::Decision Decide(const Substitution& candidate, uint64_t seed,
                           const std::atomic<bool>* interrupted);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_DECIDE_H_
