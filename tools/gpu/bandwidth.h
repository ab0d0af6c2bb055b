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
  double bytes = 0;    // read and written
  double ms = 0;       // the median of 30 executions; 0 if the back end has no device
  double copy_ms = 0;  // of a copy within device memory that reads and writes as many bytes
};

// Measures relu, a sum, a chain with a bias, a transpose, and a sum in f16. Each has `elements`
// elements, a multiple of 2^16.
absl::StatusOr<std::vector<BandwidthRow>> MeasureBandwidth(Backend* backend, int64_t elements);

}  // namespace lemma::gpu

#endif  // LEMMA_TOOLS_GPU_BANDWIDTH_H_
