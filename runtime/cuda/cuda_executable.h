// A planned graph on a device. Only where the program was built with CUDA's headers (HAVE_CUDA).
#ifndef LEMMA_RUNTIME_CUDA_CUDA_EXECUTABLE_H_
#define LEMMA_RUNTIME_CUDA_CUDA_EXECUTABLE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_driver.h"
#include "runtime/cuda/cuda_plan.h"
#include "runtime/executor.h"

namespace lemma::cuda {

// Compiles the plan's kernels for `device`, uploads what is static, and captures one run as a CUDA
// graph. A run copies inputs through pinned memory, replays the graph, copies the outputs back, and
// waits once. `threads` compute what depends on weights alone, on the host. `libraries`: matrix
// products by cuBLASLt, where it is found and has an algorithm.
absl::StatusOr<std::unique_ptr<Executable>> LoadPlan(const CudaDevice& device, const Graph& graph,
                                                     CudaPlan plan, int threads, bool libraries);

// Milliseconds of one run of `executable`, one of LoadPlan, within a CUDA graph of `repeats` runs
// in a row: without the gaps around a lone kernel, and with its operands in the caches where they
// fit. The median of `runs` such graphs. Inputs whose memory later kernels use have their values in
// the first run only.
absl::StatusOr<double> TimeInSequence(Executable* executable, absl::Span<const Tensor> inputs,
                                      int repeats, int runs);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_EXECUTABLE_H_
