// States what the kernels of a CUDA plan have to compute.
#ifndef LEMMA_API_CHECKING_PROGRAM_PARTS_H_
#define LEMMA_API_CHECKING_PROGRAM_PARTS_H_

#include <utility>
#include <vector>

#include "runtime/cuda/cuda_plan.h"
#include "verifier/kernels/kernel_check.h"

namespace lemma::api {

// The operators that the kernels of `step` have to compute: one part for each group of operators
// that is fused side by side. The step must have a program (step.program), and must outlive the
// parts.
std::vector<kernels::ProgramPart> PartsOf(const cuda::CudaStep& step);

// The pairs (operand, result) whose memory is shared: numbers of slots of the program that the plan
// puts into the same buffer. The step must have a program.
std::vector<std::pair<int, int>> InPlace(const cuda::CudaStep& step);

}  // namespace lemma::api

#endif  // LEMMA_API_CHECKING_PROGRAM_PARTS_H_
