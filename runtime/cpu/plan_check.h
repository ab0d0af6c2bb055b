// What must hold of every plan, whatever it is of.
#ifndef LEMMA_RUNTIME_CPU_PLAN_CHECK_H_
#define LEMMA_RUNTIME_CPU_PLAN_CHECK_H_

#include "absl/status/status.h"
#include "runtime/cpu/planner.h"

namespace lemma::cpu {

// Internal, naming the step: unless what each step reads and writes lies inside its buffer, as its
// kernel's spec says, and no two elements that it writes lie at one place. O(steps * rank^2).
absl::Status CheckPlaces(const CpuPlan& plan);

// Internal, naming the step: unless each step finds in memory the elements of the values that its
// spec names, so that nothing was overwritten that somebody still reads, and every output of the
// graph is complete in the end. PostOpKind each element through memory: O(bytes that the steps
// move).
absl::Status CheckMovement(const Graph& graph, const CpuPlan& plan);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_PLAN_CHECK_H_
