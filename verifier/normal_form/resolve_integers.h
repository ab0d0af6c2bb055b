// Rewrites computations with integers and truth values as guards and indices, which the prover can
// reason about. Internal to the prover.
//
//   where(t[i] = 3, a, b)       if t[i] = 3 then a else b
//   x[where(t[i] < 0, n, 0)]    if t[i] < 0 then x[n] else x[0]
//
// t[i], an integer element of an input, is an index like others (IndexExpr::Load). An integer that
// may change when it is stored (verifier/normal_form/storage.h) is not rewritten.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_RESOLVE_INTEGERS_H_
#define LEMMA_VERIFIER_NORMAL_FORM_RESOLVE_INTEGERS_H_

#include "graph/expr/tensor_expr.h"

namespace lemma::prover {

// A definition with the same elements as `definition` wherever `definition` reads inside its
// tensors. A read of an element whose index is computed from elements of a tensor, such as x[t[i]],
// gives 0 if the index is out of range; a read that serves as an index itself is not changed. Sets
// *reads_at_data to true if there is any read with such an index, in range or not; otherwise leaves
// it as it is. If rewriting takes more than 50000 steps, returns `definition` unchanged and sets
// *reads_at_data to true, since not all reads were seen.
Definition ResolveIntegers(const Definition& definition, bool* reads_at_data);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_RESOLVE_INTEGERS_H_
