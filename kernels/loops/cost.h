// The work a definition does: operations and bytes, read off its expression.
#ifndef LEMMA_KERNELS_LOOPS_COST_H_
#define LEMMA_KERNELS_LOOPS_COST_H_

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {

// Of one evaluation of a definition. Doubles, because counts of large graphs exceed 2^63.
struct Work {
  double flops = 0;          // scalar operations
  double bytes_read = 0;     // of inputs, each element counted once however often it is read
  double bytes_written = 0;  // of outputs
};

// Counts `definition`, all of whose sizes must be constants (InvalidArgument otherwise).
//
//   * A scalar function is one operation, whatever it costs; so is one step of a reduction.
//     Index arithmetic, reads, guards and Select are none.
//   * A subterm is counted once per value of the variables it depends on, since loop invariants are
//     hoisted; a shared subterm is counted once.
//   * What is under a guard counts for the fraction of iterations in which the guard holds: exactly
//     for conditions on at most two variables (and for 1 if those range over more than a million
//     values), the product for conjunctions. An extent that varies counts as its mean.
//   * bytes_read: a read touches as many elements as the variables of its index have values, an
//     input's reads together at most the whole tensor.
//   * Locals count for flops, not for bytes.
absl::StatusOr<Work> CountWork(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_COST_H_
