// Checks that a definition can be evaluated. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_CHECK_H_
#define LEMMA_KERNELS_LOOPS_LOOP_CHECK_H_

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {
namespace loops {

// InvalidArgument unless all sizes are constant, no symbol or parameter remains, every variable is
// bound where it is used, no tensor has more than kMaxVars variables (loop_ir.h), a tensor reads
// only tensors before it, with as many indices as their rank, each function has as many arguments
// as its arity, and all outputs exist.
absl::Status CheckEvaluable(const Definition& definition);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_CHECK_H_
