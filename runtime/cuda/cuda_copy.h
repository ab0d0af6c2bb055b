// Times copies within a device's memory, for comparison: a kernel that only moves values is not
// faster than such a copy. Only in programs built with CUDA's headers (HAVE_CUDA).
#ifndef LEMMA_RUNTIME_CUDA_CUDA_COPY_H_
#define LEMMA_RUNTIME_CUDA_CUDA_COPY_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_driver.h"

namespace lemma::cuda {

// Milliseconds of each of `runs` copies of `bytes` bytes, by the device's clock. ResourceExhausted
// unless twice as many bytes are free.
absl::StatusOr<std::vector<double>> TimeCopies(const CudaDevice& device, int64_t bytes, int runs);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_COPY_H_
