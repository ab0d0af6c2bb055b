#include "graph/expr/loop_plan.h"

#include <utility>

#include "graph/expr/compose.h"
#include "graph/expr/loop_schedule.h"

namespace lemma {
namespace loops {

Plan MakePlan(const Definition& definition, std::vector<Slot> slots) {
  Plan plan;
  plan.slots = std::move(slots);
  plan.num_inputs = definition.num_inputs();
  int num_vars = definition.num_vars;
  for (size_t i = 0; i < definition.tensors.size(); ++i) {
    const TensorExpr& tensor = definition.tensors[i];
    NestSource source;
    source.slot = plan.num_inputs + static_cast<int>(i);
    source.axes = tensor.axes;
    for (const Axis& axis : tensor.axes) source.out.push_back(IndexExpr::Var(axis.var));
    ExprSubstitution one_binder;
    one_binder.fresh = &num_vars;
    source.body = Substitute(tensor.body, one_binder);
    Nest nest = Lower(source, plan.slots);
    Schedule(&nest);
    plan.steps.push_back({std::move(nest)});
  }
  return plan;
}

}  // namespace loops
}  // namespace lemma
