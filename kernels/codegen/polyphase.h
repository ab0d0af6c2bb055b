// Strided gradients as dense sums. Internal to grid_program.
#ifndef LEMMA_KERNELS_CODEGEN_POLYPHASE_H_
#define LEMMA_KERNELS_CODEGEN_POLYPHASE_H_

#include <vector>

#include "graph/expr/scalar_expr.h"
#include "kernels/loops/loop_source.h"

namespace lemma::codegen {

// `source`, whose body has the sum `reduce`, where a guard of that admits only every m-th value of
// a reduction axis, and which ones depends on a phase, an output axis of few values
// (loops::SplitMixedAxes makes these): one source for each phase, which computes its elements of
// the output and whose reduction has only what the guard admits. Empty if there is no such guard,
// or `reduce` is no sum.
std::vector<loops::NestSource> SplitIntoPhases(const loops::NestSource& source,
                                               const ScalarExpr& reduce, int* fresh);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_POLYPHASE_H_
