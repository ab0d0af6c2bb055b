// Owns memory of a device, or pinned memory of its host. Only in programs built with CUDA's headers
// (HAVE_CUDA).
#ifndef LEMMA_RUNTIME_CUDA_DEVICE_MEMORY_H_
#define LEMMA_RUNTIME_CUDA_DEVICE_MEMORY_H_

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_driver.h"

namespace lemma::cuda {

// A block of memory, freed with the object.
class Memory {
 public:
  enum class Where { kDevice, kHost };

  Memory() = default;
  Memory(const Memory&) = delete;
  ~Memory() {
    if (device_ != 0) cuda_->cuMemFree(device_);
    if (host_ != nullptr) cuda_->cuMemFreeHost(host_);
  }

  // Call at most once. `cuda` must outlive the object. `what` names the memory in messages. Errors
  // are those of CudaDriver::Check: ResourceExhausted if memory is exhausted.
  absl::Status Allocate(const CudaDriver& cuda, Where where, int64_t bytes, const char* what) {
    cuda_ = &cuda;
    const size_t size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    const CUresult result = where == Where::kDevice ? cuda.cuMemAlloc(&device_, size)
                                                    : cuda.cuMemHostAlloc(&host_, size, 0);
    return cuda.Check(result, absl::StrCat(what, ": ", bytes, " bytes"));
  }

  // 0 or nullptr unless Allocate succeeded for this kind of memory.
  CUdeviceptr device() const { return device_; }
  char* host() const { return static_cast<char*>(host_); }

 private:
  const CudaDriver* cuda_ = nullptr;
  CUdeviceptr device_ = 0;
  void* host_ = nullptr;
};

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_DEVICE_MEMORY_H_
