#include "kernels/loops/loop_plan.h"

#include <algorithm>
#include <utility>

#include "kernels/loops/leaf_table.h"
#include "kernels/loops/loop_lowering.h"
#include "kernels/loops/loop_passes.h"
#include "kernels/loops/loop_schedule.h"

namespace lemma {
namespace loops {
namespace {

// Orders the axes as the written tensor lies in memory, innermost last, so that axes that form one
// run become neighbors. Returns `source` itself if an axis does not belong to one dimension.
NestSource InMemoryOrder(const NestSource& source, const Slot& slot) {
  auto step_of = [&](const Axis& axis) -> int64_t {
    for (size_t d = 0; d < source.out.size(); ++d) {
      const IndexExpr& index = source.out[d];
      if (index.kind() == IndexExpr::Kind::kVar && index.var() == axis.var) return slot.strides[d];
    }
    return -1;
  };
  NestSource result = source;
  for (const Axis& axis : result.axes) {
    if (step_of(axis) < 0) return source;
  }
  std::stable_sort(result.axes.begin(), result.axes.end(),
                   [&](const Axis& a, const Axis& b) { return step_of(a) > step_of(b); });
  return result;
}

// Recognizes a nest that copies elements along affine paths.
void FindCopy(NestStep* step) {
  const Nest& nest = step->nest;
  const Node& root = nest.nodes[nest.root];
  if (root.kind != ScalarExpr::Kind::kRead || !root.checks.empty()) return;
  for (const Affine* p : {&root.index, &nest.out}) {
    for (const auto& term : p->terms) {
      if (nest.leaves[term.first].kind != IndexLeaf::Kind::kVar) return;
    }
  }
  step->copied_slot = root.slot;
  step->copy_to = nest.out.base;
  step->copy_from = root.index.base;
  for (int var : nest.axes) {
    step->copy.push_back(
        {nest.vars[var].extent, nest.out.CoefficientOf(var), root.index.CoefficientOf(var)});
  }
  if (step->copy.empty()) step->copy.push_back({1, 0, 0});
}

class Planner {
 public:
  Planner(const Definition& definition, std::vector<Slot> slots) : fresh_(definition.num_vars) {
    plan_.slots = std::move(slots);
    plan_.num_inputs = definition.num_inputs();
  }

  void Add(const TensorExpr& tensor, int slot) {
    NestSource source = SourceOf(tensor, slot, &fresh_);
    if (IsEmpty(source)) return;
    for (const NestSource& piece : SplitAtGuards(source, &fresh_)) {
      std::vector<NestSource> before;
      NestSource rest = ExtractReductions(SplitMixedAxes(piece, &fresh_), &plan_.slots, &before);
      for (const NestSource& nest : before) Emit(nest);
      Emit(rest);
    }
  }

  Plan Take() { return std::move(plan_); }

 private:
  void Emit(const NestSource& source) {
    if (IsEmpty(source)) return;
    NestStep step;
    step.source = source;
    if (auto contraction = MatchContraction(source.body, source.axes)) {
      step.contraction = LowerContraction(source, *contraction, plan_.slots, &fresh_);
    } else {
      step.nest = Lower(source, plan_.slots);
      FindCopy(&step);
      if (step.copy.empty()) {
        step.nest = PlanNest(source, plan_.slots);
      } else {
        Schedule(&step.nest);
      }
    }
    plan_.steps.push_back(std::move(step));
  }

  Plan plan_;
  int fresh_;
};

}  // namespace

Nest PlanNest(const NestSource& written, absl::Span<const Slot> slots) {
  const NestSource source = InMemoryOrder(written, slots[written.slot]);
  Nest best = Lower(source, slots);
  Schedule(&best);
  // The nest keeps no variable of this numbering.
  int fresh = 1 << 30;
  for (const NestSource& collapsed : CollapseShortAxes(source, &fresh)) {
    Nest nest = Lower(collapsed, slots);
    Schedule(&nest);
    if (nest.cost_ns < best.cost_ns) best = std::move(nest);
  }
  return best;
}

Plan MakePlan(const Definition& definition, std::vector<Slot> slots) {
  Planner planner(definition, std::move(slots));
  for (size_t i = 0; i < definition.tensors.size(); ++i) {
    planner.Add(definition.tensors[i], definition.num_inputs() + static_cast<int>(i));
  }
  return planner.Take();
}

}  // namespace loops
}  // namespace lemma
