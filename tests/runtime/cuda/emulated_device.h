// A CUDA device on the host: the driver's functions over the grid emulator. Only with HAVE_CUDA.
#ifndef LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
#define LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma {

// What a stream is asked for happens when it is waited for and no sooner, so that memory read
// before that has its old values; the nodes of a CUDA graph run in an order chosen at random among
// those that it allows. Copies must stay within allocations of the right kind. It checks no more of
// what it is told. One at a time.
class EmulatedDevice {
 public:
  // That can launch the kernels of `plans`.
  static absl::StatusOr<std::unique_ptr<EmulatedDevice>> Create(
      const std::vector<const cuda::CudaPlan*>& plans, uint64_t seed);
  ~EmulatedDevice();

  const cuda::CudaDevice& device() const { return device_; }

  // Bytes copied so far, and allocated at present.
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
