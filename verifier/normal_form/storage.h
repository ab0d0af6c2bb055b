// What storing a value in an element type may do to it. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_
#define LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_

#include <string>

#include "graph/expr/arithmetic.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// The name of the unknown function that storing an element of `tensor` is; "" if it keeps it. A
// proof takes floats for real numbers and 64 bits for enough, but an integer type cuts off
// fractions, and a narrow one wraps or saturates.
std::string IntegerStorage(const Definition& definition, const TensorExpr& tensor);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_
