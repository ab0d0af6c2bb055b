// Finds typings of a rule: values of its size and attribute symbols, at which the rule is checked
// or derived.
#ifndef LEMMA_REWRITE_DERIVATION_TYPINGS_H_
#define LEMMA_REWRITE_DERIVATION_TYPINGS_H_

#include <cstdint>
#include <vector>

#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Up to `count` assignments at which both sides are well-formed, their outputs have the same types,
// no variable has a size of 0, the precondition holds, and a proof of the rule would cover the
// assignment (rewrite/rules/coverage.h). Sizes are distinct and above 1 as far as the rule allows.
// The lengths of lists differ between assignments if possible. Returns fewer assignments, or none,
// if no more are found.
std::vector<Assignment> DistinctTypings(const Substitution& rule, int count, uint64_t seed = 1);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_TYPINGS_H_
