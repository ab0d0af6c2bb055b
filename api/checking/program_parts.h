// States what the kernels of a CUDA plan have to compute.
#ifndef LEMMA_API_CHECKING_PROGRAM_PARTS_H_
#define LEMMA_API_CHECKING_PROGRAM_PARTS_H_

#include <utility>
#include <vector>

#include "runtime/cuda/cuda_plan.h"
#include "verifier/kernels/kernel_check.h"

namespace lemma::api {

// What the program of `step`, which is no copy, computes. The step must outlive the parts.
std::vector<kernels::ProgramPart> PartsOf(const cuda::CudaStep& step);

// The pairs of an operand's and a result's slot that the plan puts into one buffer.
std::vector<std::pair<int, int>> InPlace(const cuda::CudaStep& step);

}  // namespace lemma::api

#endif  // LEMMA_API_CHECKING_PROGRAM_PARTS_H_
