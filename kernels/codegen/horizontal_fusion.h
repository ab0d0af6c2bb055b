// Horizontal fusion: combines small independent kernels into one launch.
#ifndef LEMMA_KERNELS_CODEGEN_HORIZONTAL_FUSION_H_
#define LEMMA_KERNELS_CODEGEN_HORIZONTAL_FUSION_H_

#include <memory>

#include "absl/types/span.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::codegen {

// Whether `program` is one kernel by element (grid_program.h) that has neither barriers nor checks
// (GridKernel::checks) and works with the 256 threads per block of a fused kernel.
bool CanFuseHorizontally(const GridProgram& program);

// Limit on the number of pointer arguments of a fused kernel. Callers of FuseHorizontally must keep
// to it; it is not checked.
constexpr int kMostPointers = 384;

// A program of one kernel that does the work of all `programs`, each in its own blocks. Its slots
// are the slots of the first program, then the slots of the second, and so on. num_inputs is 0,
// since inputs are not separated from other slots. Each program must satisfy CanFuseHorizontally,
// and must not write anything that another program reads or writes.
GridProgram FuseHorizontally(absl::Span<const std::shared_ptr<const GridProgram>> programs);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_HORIZONTAL_FUSION_H_
