// Plans the steps that compute a definition for given strides. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_PLAN_H_
#define LEMMA_KERNELS_LOOPS_LOOP_PLAN_H_

#include <optional>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "kernels/lanes/strided_copy.h"
#include "kernels/loops/contraction.h"
#include "kernels/loops/loop_ir.h"
#include "kernels/loops/loop_source.h"

namespace lemma {
namespace loops {

// A step of a plan: one nest, with the ways in which it can be computed.
struct NestStep {
  NestSource source;
  // Used if set, unless the factors' values rule it out (see RunContraction).
  std::optional<Contraction> contraction;
  // If not empty: the step only copies elements of `copied_slot`. If both tensors have the same
  // storage, StridedCopy (lanes/strided_copy.h) copies them; otherwise `nest` does.
  std::vector<CopyAxis> copy;
  int copied_slot = -1;
  int64_t copy_to = 0, copy_from = 0;  // offsets of the first element
  // The loops of the step. Empty if `contraction` is set: then the loops are made by PlanNest, and
  // only if the factors' values rule the contraction out.
  Nest nest;
};

struct Plan {
  std::vector<Slot> slots;  // one for each tensor of the definition, then temporaries
  int num_inputs = 0;
  std::vector<NestStep> steps;  // in order
};

// The plan for `definition`, which must have passed CheckEvaluable. `slots` has the strides of all
// its tensors.
Plan MakePlan(const Definition& definition, std::vector<Slot> slots);

// The scheduled loops that compute all of `source`, without a contraction or a copy.
Nest PlanNest(const NestSource& source, absl::Span<const Slot> slots);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_PLAN_H_
