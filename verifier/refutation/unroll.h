// Writes out sums and products, so that an evaluator keeps their order. Internal to the verifier.
#ifndef LEMMA_VERIFIER_REFUTATION_UNROLL_H_
#define LEMMA_VERIFIER_REFUTATION_UNROLL_H_

#include <optional>

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// Replaces each sum and product over axes in `definition`, whose sizes must be constant, by
// additions and multiplications in the order of its indices. A term that a condition excludes
// becomes the neutral element: 0 or 1. nullopt if there are more than `max_terms` terms in all, or
// if the extent of a sum or product depends on the index of an element.
std::optional<Definition> Unrolled(const Definition& definition, int max_terms);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_UNROLL_H_
