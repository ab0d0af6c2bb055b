// Emulates a CUDA device on the host: implements the driver's functions with the grid emulator.
// Only with HAVE_CUDA.
#ifndef LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
#define LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma {

// Work on a stream runs only when the stream is waited for, so memory read before that has its old
// values. The nodes of a CUDA graph run in a random order among those that it allows. Copies must
// stay within allocations of the right kind; nothing else is checked. Only one device at a time.
class EmulatedDevice {
 public:
  // A device that can launch the kernels of `plans`.
  static absl::StatusOr<std::unique_ptr<EmulatedDevice>> Create(
      const std::vector<const cuda::CudaPlan*>& plans, uint64_t seed);
  ~EmulatedDevice();

  const cuda::CudaDevice& device() const { return device_; }

  // Bytes copied so far, and bytes allocated now.
  int64_t copied_to_device() const;
  int64_t copied_to_host() const;
  int64_t copied_on_device() const;
  int64_t allocated() const;

 private:
  EmulatedDevice() = default;
  cuda::CudaDriver driver_;
  cuda::CudaDevice device_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
