// Proves that all reads of a definition lie inside their tensors.
#ifndef LEMMA_KERNELS_LOOPS_BOUNDS_H_
#define LEMMA_KERNELS_LOOPS_BOUNDS_H_

#include <string>
#include <vector>

#include "graph/expr/tensor_expr.h"

namespace lemma {

// One text for each index of a read of `definition` that interval analysis could not prove in
// bounds. It names the tensors, the dimension, the index, the index's possible values and the valid
// values. Empty: every read is in bounds, for all values of the indices that its guards and axes
// admit. Data-dependent indices are not reported, since they are checked at run time. If the
// definition cannot be evaluated (loop_check.h), for example because a size is not constant, the
// result is one text that says why.
//
// Sound, but not complete: it may report a read that is in bounds. The ranges
// of the output's indices are split where a guard on a single output index
// changes its value. Apart from that, the analysis uses only the ranges of
// variables and the affine comparisons that are known to hold at the read: the
// parts of a conjunction that holds, and the negated parts of a disjunction
// that does not hold.
std::vector<std::string> UnprovedReads(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_BOUNDS_H_
