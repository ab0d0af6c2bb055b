// What integers and truth values decide in a definition, said with guards and indices, which the
// prover reasons about. Internal to the prover.
//
//   where(t[i] = 3, a, b)       if t[i] = 3 then a else b
//   x[where(t[i] < 0, n, 0)]    if t[i] < 0 then x[n] else x[0]
//
// t[i], an integer that an input holds, is an index like others (IndexExpr::Load). Where storing an
// integer may change it (verifier/normal_form/storage.h), it is not looked into.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_RESOLVE_INTEGERS_H_
#define LEMMA_VERIFIER_NORMAL_FORM_RESOLVE_INTEGERS_H_

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// `definition` with the same elements wherever it reads inside its tensors. Where it would not, at
// a position that a tensor holds, the result reads 0; *reads_at_data becomes true if there is any
// such read.
Definition ResolveIntegers(const Definition& definition, bool* reads_at_data);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_RESOLVE_INTEGERS_H_
