// Describes the results that the kernels of a CUDA plan must compute, for the check of these
// kernels (verifier/kernels/kernel_check.h).
#ifndef LEMMA_API_CHECKING_PROGRAM_PARTS_H_
#define LEMMA_API_CHECKING_PROGRAM_PARTS_H_

#include <utility>
#include <vector>

#include "runtime/cuda/cuda_plan.h"
#include "verifier/kernels/kernel_check.h"

namespace lemma::api {

// The operators that the kernels of `step` must compute. A step computes one group of operators, or
// several groups that are fused side by side; each group gives one part. The step must have a
// program (step.program), and must outlive the parts.
std::vector<kernels::ProgramPart> PartsOf(const cuda::CudaStep& step);

// The pairs (operand, result) that share memory: the plan puts both into the same buffer. Each
// number is an index in step.program->slots. The step must have a program.
std::vector<std::pair<int, int>> InPlace(const cuda::CudaStep& step);

}  // namespace lemma::api

#endif  // LEMMA_API_CHECKING_PROGRAM_PARTS_H_
