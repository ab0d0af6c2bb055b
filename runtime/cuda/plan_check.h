// Checks the invariants of CUDA plans, and the products that plans ask cuBLASLt for. Needs no GPU.
#ifndef LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_
#define LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// OK if all of these hold; otherwise Internal, with a message that names the launch, buffer, output
// or operator at fault:
//
//   * Every buffer that is used lies inside its block of memory: the arena, the static values or
//     the host's memory.
//   * Inputs and static values lie in different places, and plan.state lists the state variables of
//     `graph`.
//   * If two launches touch the same memory and one of them writes, the later launch waits for the
//     earlier launch, directly or through others. Only the kernels of one step may write parts of
//     one result at the same time.
//   * Before each launch, memory holds the values that its operators read, in the types in which
//     its kernel reads them. At the end, memory holds every output of `graph`.
//   * No launch writes a weight or a constant.
//
// Takes time quadratic in the number of launches.
absl::Status CheckPlan(const Graph& graph, const CudaPlan& plan);

struct ProductCheck {
  int launches = 0;   // the number of launches that are products for cuBLASLt
  int different = 0;  // the number of different signatures among these launches
};

// For each matrix product that cuBLASLt may compute, computes its result on random values in two
// ways, both on the CPU: as the product is described to the library (codegen::GemmCall), and by its
// operators' definitions. Internal, with the signature (CudaStep::signature), if the results differ
// by more than rounding (runtime/tolerance.h). Products of equal signature are compared once.
// Products that take several kernels are skipped and not counted.
absl::StatusOr<ProductCheck> CheckProducts(const CudaPlan& plan, uint64_t seed);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_
