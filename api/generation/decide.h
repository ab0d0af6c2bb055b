// Decides one candidate of the generator: proved, guarded, refuted or unknown.
#ifndef LEMMA_API_GENERATION_DECIDE_H_
#define LEMMA_API_GENERATION_DECIDE_H_

#include <atomic>
#include <cstdint>

#include "generator/run/generate.h"
#include "rewrite/rules/substitution.h"

namespace lemma::api {

// Proves the candidate for all sizes, or finds the guard under which it is true. A proved rule that
// no search can look for is unknown. The limit is a number of steps, not a time. `interrupted` may
// be null; once it is true the decision says nothing.
generator::Decision Decide(const Substitution& candidate, uint64_t seed,
                           const std::atomic<bool>* interrupted);

}  // namespace lemma::api

#endif  // LEMMA_API_GENERATION_DECIDE_H_
