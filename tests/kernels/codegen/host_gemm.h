// Computes on the host a matrix product that a CUDA plan leaves to cuBLASLt.
#ifndef LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_
#define LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/codegen/gemm_call.h"

namespace lemma {

// `pointers` point to the kernel's arguments, with `elements` elements each. InvalidArgument if a
// matrix does not lie inside its argument, or has a shape that GemmCall excludes.
absl::Status RunGemm(const codegen::GemmCall& call, const std::vector<void*>& pointers,
                     const std::vector<int64_t>& elements);

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_
