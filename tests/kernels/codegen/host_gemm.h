// Computes on the host the matrix products that a CUDA plan may leave to cuBLASLt.
#ifndef LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_
#define LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/codegen/gemm_call.h"

namespace lemma {

// Runs the product. For each argument of the kernel that the product replaces, `pointers` has the
// argument's memory and `elements` its number of elements. InvalidArgument if a matrix or
// the bias does not lie inside its argument, or if a matrix has a layout that GemmCall excludes.
absl::Status RunGemm(const codegen::GemmCall& call, const std::vector<void*>& pointers,
                     const std::vector<int64_t>& elements);

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_
