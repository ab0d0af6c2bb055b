// Decides which of two plans is better: by the work that they execute if that suffices, else by
// time.
#ifndef LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_
#define LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_

#include "absl/status/statusor.h"
#include "optimizer/cost/cost_model.h"

namespace lemma::optimizer {

// The kernels that only one of two plans has, or has more often than the other plan.
// KernelUse::times: how much more often.
struct PlanDifference {
  KernelList before, after;
};
PlanDifference DifferenceOf(const KernelList& before, const KernelList& after);

// Whether the new plan is better, however long its kernels take. `difference.after` has the new
// kernels, `difference.before` the old ones. True if all of these conditions hold:
//   * Each new kernel does the main work (KernelTraits::core) of an old kernel. Different new
//     kernels have different old kernels.
//   * The new kernels fuse only operators that the old kernels fuse too, and each at most as often.
//   * Together, the new kernels have no more operations and no more bytes than the old ones, and
//     either fewer operators, or as many operators and fewer bytes.
//   * If the new kernels read or write more bytes with gaps (KernelTraits::gap_bytes) than the old
//     ones, then old kernels without main work, such as copies, write at least as many bytes as
//     this increase.
// True also if there are old kernels but no new ones; false for equal plans.
bool CannotLose(const PlanDifference& difference, CostModel* costs);

struct PlanComparison {
  enum class Verdict { kBetter, kEven, kWorse };
  Verdict verdict = Verdict::kEven;  // of the new plan
  bool is_certain = false;           // decided by CannotLose, without times
  // The time of the new plan minus the time of the old one, and the standard error of this
  // difference. Both are 0 if the verdict is certain.
  double ns = 0, error_ns = 0;
};

// Compares the times of the kernels that differ, without CannotLose. The verdict is kBetter for a
// gain of more than two standard errors, kWorse for a loss of more than one, and kEven otherwise.
// Measures only kernels whose prices are not known.
absl::StatusOr<PlanComparison> CompareTimes(const PlanDifference& difference, CostModel* costs);

// Compares the plan `before` with the new plan `after`:
//   * If CannotLose decides, in one direction or the other, the verdict is certain.
//   * Otherwise times decide, as in CompareTimes. Pairs of an old and a new kernel that CannotLose
//     decides are left out. If such a pair is a loss, a gain must also show in the times of all
//     kernels that differ.
//   * If the times are even, uncertain kernels are measured once more (CostModel::Refine). If the
//     times show a gain, all kernels that were measured only once are measured once more
//     (CostModel::Confirm).
//   * If the times are still even and the new graph has no more operators than the old one, the new
//     plan is better if the pairs left out contain more gains than losses. If they contain as many
//     gains as losses, the new plan is better if its graph has fewer operators, or if the kernels
//     that were not left out move fewer bytes in the new plan than in the old one.
// `operators`: the number of operators of the new graph minus the number of operators of the old
// graph.
absl::StatusOr<PlanComparison> Compare(const KernelList& before, const KernelList& after,
                                       int operators, CostModel* costs);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_
