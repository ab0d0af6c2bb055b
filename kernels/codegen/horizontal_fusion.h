// Small kernels as one launch.
#ifndef LEMMA_KERNELS_CODEGEN_HORIZONTAL_FUSION_H_
#define LEMMA_KERNELS_CODEGEN_HORIZONTAL_FUSION_H_

#include <memory>

#include "absl/types/span.h"
#include "kernels/codegen/grid_program.h"

namespace lemma::codegen {

// Whether `program` is one kernel without barriers and checks, in blocks of any size.
bool CanFuseHorizontally(const GridProgram& program);

// As many pointers as a kernel may have that it is side by side with.
constexpr int kMostPointers = 384;

// One kernel that does what those of `programs` do, each by blocks of its own. The slots are those
// of the first program, then those of the second one, and so on; num_inputs is 0: which are inputs
// is not said. `programs` CanFuseHorizontally, and write what no other of them reads or writes.
GridProgram FuseHorizontally(absl::Span<const std::shared_ptr<const GridProgram>> programs);

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_HORIZONTAL_FUSION_H_
