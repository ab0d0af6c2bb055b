// The CUDA back end: kernels generated from the operators' definitions (kernels/codegen).
#ifndef LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_
#define LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_

#include <cstdint>
#include <memory>
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
  // Matrix products by cuBLASLt where it is found; else every kernel is generated.
  bool libraries = true;
  // How kernels are generated; other than the default, for measurements.
  codegen::GridOptions grid = {};
  // As of PlanOptions (runtime/cuda/cuda_plan.h). A measurer's peaks are always those of `false`.
  bool reuse_late = true;
};

// Plan() needs no GPU. Compile() without one is FailedPrecondition ("no CUDA device: …"), and so it
// is in a program built without CUDA's headers.
std::unique_ptr<Backend> MakeCudaBackend(const CudaOptions& options = {});

// Compiles the kernels of `graphs`, side by side, into the folder that Compile looks into. Fails as
// Plan and Compile do.
absl::Status CompileAhead(absl::Span<const Graph> graphs);

// Milliseconds of each of `runs` copies of `bytes` bytes within the device's memory, of which each
// reads and writes that many. FailedPrecondition without a device.
absl::StatusOr<std::vector<double>> TimeDeviceCopies(int64_t bytes, int runs);

// Plans and counts without a GPU; MeasureMs needs one.
std::unique_ptr<KernelMeasurer> MakeCudaMeasurer(const CudaOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_RUNTIME_CUDA_CUDA_BACKEND_H_
