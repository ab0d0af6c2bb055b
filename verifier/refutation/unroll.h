// Sums and products written out, so that an evaluator keeps their order. Internal to the verifier.
#ifndef LEMMA_VERIFIER_REFUTATION_UNROLL_H_
#define LEMMA_VERIFIER_REFUTATION_UNROLL_H_

#include <optional>

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// `definition`, all of whose sizes are constants, with each sum and product as additions and
// multiplications in the order of its indices; a term that a condition leaves out is neutral.
// nullopt if that takes more than `max_terms` terms or an extent varies.
std::optional<Definition> Unrolled(const Definition& definition, int max_terms);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_REFUTATION_UNROLL_H_
