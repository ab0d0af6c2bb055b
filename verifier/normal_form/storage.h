// Says how storing a value in an integer type may change it. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_
#define LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_

#include <string>

#include "graph/expr/arithmetic.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// The name of an uninterpreted function that stands for storing an element of `tensor`; "" if
// storing keeps the value, or if `tensor` has no integer type. Storing changes values as follows:
// every integer type cuts off the fraction of a float; every integer type except i64 also wraps
// integers and saturates floats. A proof assumes that i64 does not overflow.
std::string IntegerStorage(const Definition& definition, const TensorExpr& tensor);

// Whether the body of `tensor` computes its value from elements of a float tensor. Elements that
// are only compared, or only select the value, do not count.
bool ComputesWithFloats(const Definition& definition, const TensorExpr& tensor);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_
