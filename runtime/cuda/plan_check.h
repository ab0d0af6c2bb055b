// What must hold of every CUDA plan, found out from the plan alone. Needs no GPU.
#ifndef LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_
#define LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// Internal, naming the launch, unless
//
//   * every buffer lies inside its memory,
//   * of two launches that touch the same memory, one of them writing, the later one waits for the
//     earlier one, directly or through others; but for kernels that write parts of one result,
//   * each launch finds in memory the values that its operators read, and every output of `graph`
//     is there in the end.
//
// O(launches^2 * arguments^2).
absl::Status CheckPlan(const Graph& graph, const CudaPlan& plan);

struct ProductCheck {
  int launches = 0;   // that are products for the library
  int different = 0;  // of those, not counting equal ones again
};

// Computes, on random values, each product that the library may be asked for as it is described
// to the library (codegen::GemmCall), and as its operators are defined. Internal, naming the step,
// where they differ by more than rounding (runtime/tolerance.h). Products of several kernels are
// not looked at.
absl::StatusOr<ProductCheck> CheckProducts(const CudaPlan& plan, uint64_t seed);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_
