// Makes the storage of results that are integers of at most 8 bits explicit in a definition.
// Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_STORED_BYTES_H_
#define LEMMA_VERIFIER_NORMAL_FORM_STORED_BYTES_H_

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// `definition`, changed so that its outputs of integer types of at most 8 bits have the values that
// executors store (kernels/evaluate/evaluate.h): a real number is rounded towards zero and
// saturates, an integer wraps. The values count as real numbers if any tensor of the definition has
// a float type, otherwise as integers. Assumes that wider integers do not overflow.
Definition StoredBytes(Definition definition);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_STORED_BYTES_H_
