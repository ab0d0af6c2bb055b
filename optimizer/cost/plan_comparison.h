// Decides which of two plans is better: by the work that they execute if that suffices, else by
// time.
#ifndef LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_
#define LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_

#include "absl/status/statusor.h"
#include "optimizer/cost/cost_model.h"

namespace lemma::optimizer {

// The kernels that only one of two plans has.
struct PlanDifference {
  KernelList before, after;
};
PlanDifference DifferenceOf(const KernelList& before, const KernelList& after);

// Whether the new plan cannot be slower, whatever its kernels take. Each new kernel does the same
// main work (KernelTraits::core) as an old one that is gone, no two as the same one; they fuse
// nothing that the old kernels did not compute; and together they have fewer operators, or as many
// and fewer bytes, and no more operations or bytes. Where they read or write with gaps and the old
// ones did not, copies of as many bytes are gone. A plan that only lost kernels cannot be slower
// either.
bool CannotLose(const PlanDifference& difference, CostModel* costs);

struct PlanComparison {
  enum class Verdict { kBetter, kEven, kWorse };
  Verdict verdict = Verdict::kEven;
  bool is_certain = false;  // decided by CannotLose, without times
  // The time after less the time before, and its standard error. Both 0 if the answer is certain.
  double ns = 0, error_ns = 0;
};

// The time after less the time before, with its standard error, whatever else is known of the
// plans. Measures only kernels whose prices are not known.
absl::StatusOr<PlanComparison> CompareTimes(const PlanDifference& difference, CostModel* costs);

// Compares the times of the kernels that differ, except for pairs of an old and a new kernel that
// need no times. A gain within two standard errors, or a loss within one, counts as none; the
// uncertain kernels are then measured once more (CostModel::Refine), and if it still counts as
// none, fewer operators decide, then fewer bytes. `operators`: how many operators the new graph has
// more than the old one.
absl::StatusOr<PlanComparison> Compare(const KernelList& before, const KernelList& after,
                                       int operators, CostModel* costs);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_
