// Checks the invariants of CUDA plans, from the plan alone. Needs no GPU.
#ifndef LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_
#define LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/graph.h"
#include "runtime/cuda/cuda_plan.h"

namespace lemma::cuda {

// Returns Internal, with a message that names the launch, buffer or output at fault, unless
//
//   * every buffer lies inside its memory,
//   * if two launches touch the same memory and one of them writes, the later launch waits for the
//     earlier launch, directly or through others; but kernels may write parts of one result at the
//     same time,
//   * each launch finds in memory, in the type that it reads, the values that its operators read,
//     and every output of `graph` is there at the end,
//   * no launch writes a weight or a constant.
//
// Takes O(launches^2 * (arguments^2 + waits)) time, with the numbers of arguments and waits per
// launch.
absl::Status CheckPlan(const Graph& graph, const CudaPlan& plan);

struct ProductCheck {
  int launches = 0;   // the number of launches that are products for cuBLASLt
  int different = 0;  // the number of different signatures among these launches
};

// For each product that cuBLASLt may compute, compares two results on random values: the product as
// described to the library (codegen::GemmCall), and its operators' definitions. Products of equal
// signature are compared once. Internal, with the signature, if they differ by more than rounding
// (runtime/tolerance.h). Skips products made of several kernels.
absl::StatusOr<ProductCheck> CheckProducts(const CudaPlan& plan, uint64_t seed);

}  // namespace lemma::cuda

#endif  // LEMMA_RUNTIME_CUDA_PLAN_CHECK_H_
