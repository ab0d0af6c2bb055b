// The steps that compute a definition, for given strides. Internal to evaluation.
#ifndef LEMMA_GRAPH_EXPR_LOOP_PLAN_H_
#define LEMMA_GRAPH_EXPR_LOOP_PLAN_H_

#include <vector>

#include "graph/expr/loop_ir.h"
#include "graph/expr/loop_lowering.h"
#include "graph/expr/tensor_expr.h"

namespace lemma {
namespace loops {

struct Step {
  Nest nest;
};

struct Plan {
  std::vector<Slot> slots;  // one for each tensor of the definition, then temporaries
  int num_inputs = 0;
  std::vector<Step> steps;  // in order
};

// `slots` has the strides of all of `definition`'s tensors, which has passed CheckEvaluable.
Plan MakePlan(const Definition& definition, std::vector<Slot> slots);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_LOOP_PLAN_H_
