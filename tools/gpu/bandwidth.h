// Measures memory-bound generated kernels against copies of the same number of bytes.
#ifndef LEMMA_TOOLS_GPU_BANDWIDTH_H_
#define LEMMA_TOOLS_GPU_BANDWIDTH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/executor.h"

namespace lemma::gpu {

struct BandwidthRow {
  std::string name;
  double bytes = 0;    // read and written together
  double ms = 0;       // the median of 30 executions; 0 if the back end runs on the host
  double copy_ms = 0;  // as `ms`, for a copy within device memory that moves as many bytes
};

// Measures relu, an addition of two tensors, a chain (mul, add of a bias, relu), a transpose, and
// the addition in f16. Each result has `elements` elements; this must be a multiple of 2^16.
absl::StatusOr<std::vector<BandwidthRow>> MeasureBandwidth(Backend* backend, int64_t elements);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_BANDWIDTH_H_
