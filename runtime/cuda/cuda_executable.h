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

// Compiles the plan's kernels for `device`, uploads static values, and captures one run as a CUDA
// graph. A run copies inputs through pinned memory, replays the graph, copies the outputs back, and
// waits once. The host computes values that depend only on weights, on `threads` threads.
// `libraries`: use cuBLASLt for matrix products if it is found and has an algorithm.
absl::StatusOr<std::unique_ptr<Executable>> LoadPlan(const CudaDevice& device, const Graph& graph,
                                                     CudaPlan plan, int threads, bool libraries);

// Milliseconds of one run of `executable`, which LoadPlan made, within a CUDA graph of `repeats`
// consecutive runs: gaps around a lone kernel do not count, and operands are in the caches if they
// fit. Returns the median over `runs` executions of that graph. Inputs whose memory later kernels
// reuse have their values only in the first run.
absl::StatusOr<double> TimeInSequence(Executable* executable, absl::Span<const Tensor> inputs,
                                      int repeats, int runs);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_CUDA_EXECUTABLE_H_
