// Polyphase decomposition: turns the gradient of a strided convolution into one dense sum per phase
// (position modulo the stride). Internal to kernels/codegen.
#ifndef LEMMA_KERNELS_CODEGEN_POLYPHASE_H_
#define LEMMA_KERNELS_CODEGEN_POLYPHASE_H_

#include <vector>

#include "graph/expr/scalar_expr.h"
#include "kernels/loops/loop_source.h"

namespace lemma::codegen {

// Splits `source` into one source per phase. The body of `source` contains the sum `reduce`, whose
// guard admits only every m-th value of a reduction axis. The phase decides which values these are:
// it is the value of an output axis with 2 to 4 values (made by loops::SplitMixedAxes), or of
// several such axes together. Each result computes the output elements of its phase, and its sum
// runs only over admitted values. Empty if there is no such axis in the guard, if there are more
// than 16 phases, or if `reduce` is not a sum. *fresh is the number of the next new variable, and
// is advanced.
std::vector<loops::NestSource> SplitIntoPhases(const loops::NestSource& source,
                                               const ScalarExpr& reduce, int* fresh);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_POLYPHASE_H_
