// The work a definition does: operations and bytes, read off its expression.
#ifndef LEMMA_GRAPH_EXPR_COST_H_
#define LEMMA_GRAPH_EXPR_COST_H_

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
//     Index arithmetic, reads and guards are none.
//   * A subterm is counted once per value of the variables it depends on, since loop invariants are
//     hoisted; a subterm shared by pointer is counted once.
//   * Guards: the fraction of iterations in which a guard holds is taken to be the product, over
//   its
//     conjuncts, of the exact fraction for a conjunct in at most two variables, else of 1. Of a
//     Select both branches are counted, each with its fraction.
//   * bytes_read: of each input the box spanned by its reads, at most the whole tensor; a
//     data-dependent or broadcast read spans no more elements than it is evaluated for.
//   * Locals count for flops, not for bytes.
absl::StatusOr<Work> CountWork(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_COST_H_
