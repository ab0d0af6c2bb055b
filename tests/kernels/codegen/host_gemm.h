// Executes the matrix products that libraries are asked for, on the host.
#ifndef LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_
#define LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "kernels/codegen/gemm_call.h"

namespace lemma {

// `pointers` are those of the kernel's arguments, of `elements` each. InvalidArgument if a matrix
// does not lie in its argument, or has a shape that the call's definition rules out.
absl::Status RunGemm(const codegen::GemmCall& call, const std::vector<void*>& pointers,
                     const std::vector<int64_t>& elements);

}  // namespace lemma

#endif  // LEMMA_TESTS_KERNELS_CODEGEN_HOST_GEMM_H_
