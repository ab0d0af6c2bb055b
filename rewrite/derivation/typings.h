// Finds typings of a rule: values of its size and attribute symbols, for checks of the rule there.
#ifndef LEMMA_REWRITE_DERIVATION_TYPINGS_H_
#define LEMMA_REWRITE_DERIVATION_TYPINGS_H_

#include <cstdint>
#include <vector>

#include "rewrite/matching/instantiate.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

// Up to `count` assignments for which both sides are well-formed, have the same types and no empty
// operand, the precondition holds, and a proof of the rule would cover them
// (rewrite/rules/coverage.h). Sizes are distinct and above 1 as far as the rule allows; lists have
// different lengths if possible. Returns fewer, or none, if no more are found.
std::vector<Assignment> DistinctTypings(const Substitution& rule, int count, uint64_t seed = 1);

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_TYPINGS_H_
