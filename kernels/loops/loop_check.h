// Checks that a definition can be evaluated. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_CHECK_H_
#define LEMMA_KERNELS_LOOPS_LOOP_CHECK_H_

#include "absl/status/status.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {
namespace loops {

// InvalidArgument unless all sizes are constant, all outputs exist, and each tensor is well-formed:
// it has no symbol, no parameter and at most kMaxVars variables (loop_ir.h), each bound where it is
// used; it reads only tensors before it, with as many indices as their rank; and each function has
// as many arguments as its arity.
absl::Status CheckEvaluable(const Definition& definition);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_CHECK_H_
