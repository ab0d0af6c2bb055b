// Makes the storage of 8-bit integer results explicit in a definition. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_STORED_BYTES_H_
#define LEMMA_VERIFIER_NORMAL_FORM_STORED_BYTES_H_

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// `definition` with its outputs of type i8 and u8 as executors store them
// (kernels/evaluate/evaluate.h): reals are rounded towards zero and saturate, integers wrap. The
// numbers are reals if any tensor of the definition has a float type. Assumes that wider integers
// do not overflow.
Definition StoredBytes(Definition definition);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_STORED_BYTES_H_
