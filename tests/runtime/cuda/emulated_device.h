// Emulates a CUDA device on the host: implements the driver's functions with the grid emulator
// (tests/kernels/codegen/grid_emulator.h). Built only if the build finds CUDA (HAVE_CUDA).
#ifndef LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
#define LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma {

// Work on a stream runs only when the host waits for the stream; until then, memory keeps its old
// values. The nodes of a CUDA graph run in a random order that respects their dependencies.
// Functions of the driver return CUDA_ERROR_INVALID_VALUE unless these conditions hold:
//   * copies and memsets stay within allocations of device memory or pinned host memory (the source
//     of cuMemcpyHtoD may be any memory);
//   * a launch provides exactly the shared memory that its kernel needs, and no more than the
//     function's attributes allow;
//   * tensor maps are valid, and a launch gets the tensor maps that its kernel was made for.
// Only one object may exist at a time.
class EmulatedDevice {
 public:
  // A device that can launch the kernels of `plans`. The programs of the plans must outlive the
  // device. `seed` decides the random orders. Returns an error if a kernel does not compile.
  static absl::StatusOr<std::unique_ptr<EmulatedDevice>> Create(
      const std::vector<const cuda::CudaPlan*>& plans, uint64_t seed);
  ~EmulatedDevice();

  const cuda::CudaDevice& device() const { return device_; }

  // The numbers of bytes copied so far, by direction, and the number of bytes that are allocated at
  // present, on device and host together.
  int64_t copied_to_device() const;
  int64_t copied_to_host() const;
  int64_t copied_on_device() const;
  int64_t allocated() const;
  // The numbers of CUDA graphs launched so far, and of kernels launched one by one.
  int graph_launches() const;
  int kernel_launches() const;

 private:
  EmulatedDevice() = default;
  cuda::CudaDriver driver_;
  cuda::CudaDevice device_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_CUDA_EMULATED_DEVICE_H_
