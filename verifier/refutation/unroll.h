// Writes out sums and products over axes as single operations, so that an evaluator keeps the order
// of their terms. Internal to the verifier.
#ifndef LEMMA_VERIFIER_REFUTATION_UNROLL_H_
#define LEMMA_VERIFIER_REFUTATION_UNROLL_H_

#include <optional>

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// Replaces each sum and product over axes in `definition` by additions or
// multiplications of its terms, in the order of the axes' indices. The sizes of
// `definition` must be constant. A term that a condition excludes becomes the
// neutral element: 0 or 1. nullopt if there are more than `max_terms` terms in
// all. Also nullopt if the extent of a sum or product depends on the index of
// an output element, or on an axis of a reduction that is not written out, such
// as a maximum.
std::optional<Definition> Unrolled(const Definition& definition, int max_terms);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_UNROLL_H_
