// The CUDA back end: runs kernels generated from operators' definitions (kernels/codegen). The
// measurer is in cuda_measurer.cc.
#ifndef LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_
#define LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "kernels/codegen/grid_program.h"
#include "runtime/executor.h"
#include "runtime/measure.h"

namespace lemma {

struct CudaOptions {
  // Whether to use cuBLASLt for matrix products if it is found; otherwise every kernel is
  // generated.
  bool libraries = true;
  // How kernels are generated, for example in which precision they multiply. If there is a device,
  // its architecture replaces grid.architecture.
  codegen::GridOptions grid = {};
  // As PlanOptions::reuse_late (runtime/cuda/cuda_plan.h). A measurer's Plan and Timeline, which
  // give the peak memory, ignore this option: they plan with reuse_late = false.
  bool reuse_late = true;
};

// The back end's Plan() needs no GPU; without a GPU, it plans for options.grid.architecture.
// Compile() without a GPU, or in a program built without CUDA's headers, gives FailedPrecondition
// ("no CUDA device: …"). Compile() also gives FailedPrecondition with a precision other than f32 on
// a device older than sm_80.
std::unique_ptr<Backend> MakeCudaBackend(const CudaOptions& options = {});

// Compiles the kernels of `graphs` in parallel into the folder where Compile looks for them. With
// `architecture` 0, compiles for the device; otherwise for `architecture` (90 means sm_90a), which
// needs no device. Fails as Plan and Compile do.
absl::Status CompileAhead(absl::Span<const Graph> graphs, const CudaOptions& options = {},
                          int architecture = 0);

struct CudaDeviceInfo {
  std::string name;      // such as "NVIDIA H200 (sm_90)"
  int architecture = 0;  // 90 for sm_90
};
// The device that the back end uses. FailedPrecondition without a device.
absl::StatusOr<CudaDeviceInfo> FindCudaDevice();

// Milliseconds of each of `runs` copies within the device's memory. Each copy reads and writes
// `bytes` bytes. FailedPrecondition without a device.
absl::StatusOr<std::vector<double>> TimeDeviceCopies(int64_t bytes, int runs);

// A measurer of the CUDA back end. Its functions Plan, Timeline and WorkOf need no GPU; Prepare and
// MeasureMs need a GPU.
std::unique_ptr<KernelMeasurer> MakeCudaMeasurer(const CudaOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_
