// Loads a planned graph onto a device and runs it. Only in programs built with CUDA's headers
// (HAVE_CUDA).
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

// Compiles the plan's kernels for `device`, uploads static values, and makes a CUDA graph of one
// run. A run copies inputs through pinned memory, launches the CUDA graph, copies the outputs back,
// and waits once. The host computes values that depend only on weights, on `threads` threads.
// `graph` is the graph that was planned. `libraries`: use cuBLASLt for matrix products if it is
// found and has an algorithm. `device` must outlive the executable.
absl::StatusOr<std::unique_ptr<Executable>> LoadPlan(const CudaDevice& device, const Graph& graph,
                                                     CudaPlan plan, int threads, bool libraries);

// Milliseconds of one run of `executable`, which LoadPlan must have made, within a CUDA graph of
// `repeats` consecutive runs. So gaps around a lone kernel do not count, and operands are in the
// caches if they fit. Returns the median over `runs` executions of that CUDA graph. `repeats` and
// `runs` must be positive. Inputs whose memory later kernels reuse have their values only in the
// first run.
absl::StatusOr<double> TimeInSequence(Executable* executable, absl::Span<const Tensor> inputs,
                                      int repeats, int runs);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_EXECUTABLE_H_
