#include "runtime/cuda/cuda_copy.h"

namespace lemma::cuda {
namespace {

class Copies {
 public:
  explicit Copies(const CudaDriver& cuda) : cuda_(cuda) {}
  Copies(const Copies&) = delete;
  ~Copies() {
    for (CUevent event : events_) cuda_.cuEventDestroy(event);
    if (stream_ != nullptr) cuda_.cuStreamDestroy(stream_);
    if (from_ != 0) cuda_.cuMemFree(from_);
    if (to_ != 0) cuda_.cuMemFree(to_);
  }

  absl::StatusOr<std::vector<double>> Time(size_t bytes, int runs) {
    absl::Status s = cuda_.Check(cuda_.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
    if (s.ok()) s = cuda_.Check(cuda_.cuMemAlloc(&from_, bytes), "memory to copy");
    if (s.ok()) s = cuda_.Check(cuda_.cuMemAlloc(&to_, bytes), "memory to copy to");
    if (s.ok()) s = cuda_.Check(cuda_.cuMemsetD8Async(from_, 1, bytes, stream_), "memset");
    if (s.ok()) s = Mark();
    for (int run = 0; s.ok() && run < runs; ++run) {
      s = cuda_.Check(cuda_.cuMemcpyDtoDAsync(to_, from_, bytes, stream_), "copy");
      if (s.ok()) s = Mark();
    }
    if (s.ok()) s = cuda_.Check(cuda_.cuStreamSynchronize(stream_), "copies");
    std::vector<double> ms;
    for (size_t i = 1; s.ok() && i < events_.size(); ++i) {
      float elapsed = 0;
      s = cuda_.Check(cuda_.cuEventElapsedTime(&elapsed, events_[i - 1], events_[i]), "event");
      ms.push_back(elapsed);
    }
    if (!s.ok()) return s;
    return ms;
  }

 private:
  absl::Status Mark() {
    CUevent event = nullptr;
    absl::Status s = cuda_.Check(cuda_.cuEventCreate(&event, CU_EVENT_DEFAULT), "event");
    if (!s.ok()) return s;
    events_.push_back(event);
    return cuda_.Check(cuda_.cuEventRecord(event, stream_), "event");
  }

  const CudaDriver& cuda_;
  CUstream stream_ = nullptr;
  CUdeviceptr from_ = 0, to_ = 0;
  std::vector<CUevent> events_;
};

}  // namespace

absl::StatusOr<std::vector<double>> TimeCopies(const CudaDevice& device, int64_t bytes, int runs) {
  return Copies(*device.driver).Time(static_cast<size_t>(bytes), runs);
}

}  // namespace lemma::cuda
