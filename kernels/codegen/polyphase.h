// Polyphase decomposition: turns the gradient of a strided convolution into one dense sum per phase
// (position modulo the stride). Internal to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_POLYPHASE_H_
#define LEMMA_KERNELS_CODEGEN_POLYPHASE_H_

#include <vector>

#include "graph/expr/scalar_expr.h"
#include "kernels/loops/loop_source.h"

namespace lemma::codegen {

// Splits `source` into one source per phase. The body of `source` contains the sum `reduce`, whose
// guard admits only every m-th value of a reduction axis, as in (p + r) mod 2 = 0. Which values are
// admitted depends on output axes of 2 to 4 values each (made by loops::SplitMixedAxes). Each
// combination of these axes' values is a phase. The source of a phase computes the output elements
// of this phase, and its sum runs only over admitted values. The result is empty if there is no
// such output axis, if there are more than 16 phases, or if `reduce` is not a sum. *fresh is the
// number of the next new variable, and is advanced.
std::vector<loops::NestSource> SplitIntoPhases(const loops::NestSource& source,
                                               const ScalarExpr& reduce, int* fresh);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_POLYPHASE_H_
