// Checks invariants that hold for every correct CPU plan. An error names the step by its number and
// its kernel's signature.
#ifndef LEMMA_RUNTIME_CPU_PLAN_CHECK_H_
#define LEMMA_RUNTIME_CPU_PLAN_CHECK_H_

#include "absl/status/status.h"
#include "runtime/cpu/planner.h"

namespace lemma::cpu {

// Internal unless the operands and results of each step lie inside live buffers, with the strides
// in its kernel's spec, and no two elements of one result share a place. O(steps * rank^2).
absl::Status CheckPlaces(const CpuPlan& plan);

// Internal unless each step finds in memory the elements of the values that its
// spec names (nothing was overwritten too early), writes no result over its
// operands (except where its kernel works in place), and every output of the
// graph is complete at the end. If an output is incomplete, the error names the
// output and no step. Follows each element through memory: O(bytes that the
// steps move). The plan must pass CheckPlaces, because places outside a buffer
// are not noticed here.
absl::Status CheckMovement(const CpuPlan& plan);

// Internal if a step is skipped although an output of the graph depends on its result. Tries all
// truth values of up to 6 conditions, or 64 random choices if there are more. Each choice takes
// O(graph + steps).
absl::Status CheckConditions(const CpuPlan& plan);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_PLAN_CHECK_H_
