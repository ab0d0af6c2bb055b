// Runs CUDA plans of graphs on the host with the grid emulator
// (tests/kernels/codegen/grid_emulator.h).
#ifndef LEMMA_TESTS_RUNTIME_CUDA_EMULATED_PLANS_H_
#define LEMMA_TESTS_RUNTIME_CUDA_EMULATED_PLANS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"
#include "tests/kernels/codegen/host_kernels.h"

namespace lemma {

// Add all graphs, compile once, then run. Graphs are numbered from 0 in the order of Add.
class EmulatedPlans {
 public:
  // Plans the graph. Returns an error if the graph cannot be planned, or if a check of the plan
  // fails.
  absl::Status Add(const Graph& graph, const cuda::PlanOptions& options = {});
  // Compiles the kernels of all plans; `run_long`: see HostKernels::Compile.
  absl::Status Compile(bool run_long = false);

  size_t size() const { return graphs_.size(); }
  const Graph& graph(size_t i) const { return graphs_[i]; }
  const cuda::CudaPlan& plan(size_t i) const { return plans_[i]; }
  // The number of launches of plan `i` that are matrix products which cuBLASLt may compute.
  int ProductsOf(size_t i) const;
  // The number of launches of plan `i` that multiply integers of 8 bits on tensor cores.
  int ByteProductsOf(size_t i) const;

  // Runs plan `i`. `seed` chooses one of the orders of launches that Launch::after allows. If
  // `products` is true, RunGemm (tests/kernels/codegen/host_gemm.h) computes the products that
  // ProductsOf counts, not their kernels.
  absl::StatusOr<std::vector<Tensor>> Run(size_t i, absl::Span<const Tensor> inputs, uint64_t seed,
                                          bool products = false) const;
  // Runs plan `i` in two orders, with the seeds `seed` and `seed` + 1; the second run passes true
  // for `products`. Expects the results of the reference back end, within the tolerance
  // (runtime/tolerance.h). The inputs are random unless they are given.
  void ExpectMatchesReference(size_t i, uint64_t seed = 1) const;
  void ExpectMatchesReference(size_t i, absl::Span<const Tensor> inputs, uint64_t seed = 1) const;

 private:
  std::vector<Graph> graphs_;
  std::vector<cuda::CudaPlan> plans_;
  std::vector<codegen::ProductPrecision> precisions_;
  NodeTraitsCache traits_;
  std::unique_ptr<HostKernels> kernels_;
};

}  // namespace lemma

#endif  // LEMMA_TESTS_RUNTIME_CUDA_EMULATED_PLANS_H_
