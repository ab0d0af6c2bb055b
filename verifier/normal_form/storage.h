// Says how storing a value in an integer type may change it. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_
#define LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_

#include <string>

#include "graph/expr/arithmetic.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// The name of an uninterpreted function that stands for storing an element of `tensor`; "" if
// storing keeps the value. Such a function is needed although a proof takes floats as real numbers
// and assumes that i64 does not overflow: an integer type cuts off fractions, and every integer
// type but i64 (u64 too) wraps integers and saturates floats.
std::string IntegerStorage(const Definition& definition, const TensorExpr& tensor);

// Whether the body of `tensor` computes its value from elements of a float tensor. Elements that
// are only compared, or only select the value, do not count.
bool ComputesWithFloats(const Definition& definition, const TensorExpr& tensor);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_STORAGE_H_
