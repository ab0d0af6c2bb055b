// Runs the launches of a CUDA plan (kernels, and copies between device and host) on a device, as
// nodes of CUDA graphs or one by one. Built only if the build finds CUDA (HAVE_CUDA).
#ifndef LEMMA_RUNTIME_CUDA_LAUNCHES_H_
#define LEMMA_RUNTIME_CUDA_LAUNCHES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/graph.h"
#include "runtime/cuda/cublas.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// The memory where the buffers of a plan lie. Owned by the caller. `statics` holds the values that
// depend only on weights and constants; `arena` holds the other values on the device.
struct PlacedMemory {
  CUdeviceptr arena = 0, statics = 0;
  char* host = nullptr;    // host memory of offloaded values
  CUdeviceptr errors = 0;  // one int per launch: not 0 if the launch read outside a tensor

  // AddressOf is for buffers on the device, HostAddressOf for offloaded values
  // (Buffer::Kind::kHost).
  CUdeviceptr AddressOf(const Buffer& buffer) const {
    const auto offset = static_cast<CUdeviceptr>(buffer.offset);
    return (buffer.kind == Buffer::Kind::kStatic ? statics : arena) + offset;
  }
  char* HostAddressOf(const Buffer& buffer) const { return host + buffer.offset; }
};

// The launches of one plan, ready to be enqueued. `l` is the index of a launch in plan.launches.
// An error of the driver about a launch names the launch. Not thread-safe.
class Launches {
 public:
  // `graph` is the graph that was planned. All arguments must outlive the object. Call Prepare
  // once, before all functions below.
  Launches(const CudaDevice& device, const Graph& graph, const CudaPlan& plan)
      : device_(device), cuda_(*device.driver), graph_(graph), plan_(plan) {}
  Launches(const Launches&) = delete;
  ~Launches();

  // Compiles and loads the kernels. If `libraries` is true and cuBLASLt is installed, replaces a
  // kernel by a cuBLASLt function that computes the same result, if there is one. `stream` is the
  // stream on which Launch enqueues work. AddTo captures cuBLASLt calls on it, so no other capture
  // of this stream may be active.
  absl::Status Prepare(const PlacedMemory& memory, CUstream stream, bool libraries);

  // Adds a node for launch `l` to the CUDA graph `graph`, with edges from the nodes `after`. Sets
  // *node to the new node.
  absl::Status AddTo(CUgraph graph, size_t l, const std::vector<CUgraphNode>& after,
                     CUgraphNode* node);
  // Enqueues launch `l` on the stream.
  absl::Status Launch(size_t l);

  // Text for people: the schedule of launch `l`'s kernel; "cuBLASLt" if a library function replaces
  // the kernel; "copy" for a copy.
  std::string ScheduleOf(size_t l) const;
  // The name of launch `l`, for messages.
  std::string NameOf(size_t l) const;

 private:
  bool IsCopy(size_t l) const { return plan_.IsCopy(plan_.launches[l]); }
  const codegen::GridKernel& KernelOf(size_t l) const { return plan_.KernelOf(plan_.launches[l]); }
  // nullptr if the generated kernel runs.
  const MatrixProduct* ProductOf(size_t l) const {
    return products_.empty() ? nullptr : products_[l].get();
  }
  const Buffer& BufferOf(size_t l, size_t argument) const {
    return plan_.buffers[plan_.Arguments(plan_.launches[l])[argument]];
  }

  absl::Status LoadKernels();
  absl::Status BindArguments();
  absl::Status ChooseProducts();
  absl::Status AddProduct(CUgraph graph, size_t l, const std::vector<CUgraphNode>& after,
                          CUgraphNode* node);
  absl::Status AddCopy(CUgraph graph, size_t l, const std::vector<CUgraphNode>& after,
                       CUgraphNode* node);
  absl::Status Copy(size_t l);
  absl::Status Named(const absl::Status& status, size_t l) const;

  const CudaDevice& device_;
  const CudaDriver& cuda_;
  const Graph& graph_;
  const CudaPlan& plan_;
  PlacedMemory memory_;
  CUstream stream_ = nullptr;
  std::vector<CUmodule> modules_;
  std::vector<CUfunction> functions_;                // by launch; nullptr: a copy
  std::vector<std::vector<CUdeviceptr>> addresses_;  // by launch: of its arguments
  // By launch: the tensor maps of its kernel's bulk copies (TMA).
  std::vector<std::vector<CUtensorMap>> maps_;
  std::vector<std::vector<void*>> arguments_;  // pointers to the addresses and maps
  std::unique_ptr<Cublas> cublas_;
  std::vector<CUdeviceptr> workspaces_;                   // of products
  std::vector<std::unique_ptr<MatrixProduct>> products_;  // by launch; empty without the library
};

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_LAUNCHES_H_
