// Counts the work of a definition, in operations and bytes, from its expressions.
#ifndef LEMMA_KERNELS_LOOPS_COST_H_
#define LEMMA_KERNELS_LOOPS_COST_H_

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// The work of one evaluation of a definition. Doubles, because counts of large graphs exceed 2^63.
struct Work {
  double flops = 0;          // scalar operations
  double bytes_read = 0;     // of inputs, at most the size of each; see CountWork
  double bytes_written = 0;  // of outputs
};

// Counts the work of `definition`. InvalidArgument if it cannot be evaluated (loop_check.h), for
// example because a size is not constant.
//
//   * A scalar function counts as one operation, whatever its real cost; so
//     does one step of a reduction. Index arithmetic, reads, guards and Select
//     do not count.
//   * A subterm counts once per value of the variables that it depends on, since loop invariants
//     are hoisted; a shared subterm counts once.
//   * A guarded subterm counts for the fraction of iterations in which the guard holds. The
//     fraction is exact for a comparison of one or two variables with up to 2^20 values together.
//     Any other comparison is assumed to hold always: its fraction is 1, and the fraction is 0 for
//     its negation and for the second case of a Select on it. The parts of a conjunction or
//     disjunction count as independent. If a reduction's extent depends on indices, the mean extent
//     counts.
//   * bytes_read: a read touches one element for each combination of values of the variables in its
//     index, multiplied by the fraction of the guards around the read. Reads inside an index, and
//     reads with the fraction 0, count in full. Several reads of an input count as reads of
//     different elements, up to the size of the whole tensor.
//   * Tensors that are neither inputs nor outputs count for flops, not for bytes.
absl::StatusOr<Work> CountWork(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_COST_H_
