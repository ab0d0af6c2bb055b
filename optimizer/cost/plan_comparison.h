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

// Whether the new plan is better, however long its kernels take. True if the kernels that differ
// satisfy all of these conditions:
//   * Each new one does the main work (KernelTraits::core) of an old one, no two of the same.
//   * The new ones fuse nothing that the old ones did not compute.
//   * Together they have no more operations or bytes, and either fewer operators, or as many
//     operators and fewer bytes.
//   * If they read or write more bytes with gaps, copies of as many bytes are gone.
// True also if kernels were only removed; false for equal plans.
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

// The answer is certain if CannotLose decides, in one direction or the other. Otherwise it compares
// the times of the kernels that differ, leaving out pairs of an old and a new kernel that
// CannotLose decides. If such a pair is a loss, a gain must show with all kernels, too. A gain
// within two standard errors, or a loss within one, counts as none, and the uncertain kernels are
// then measured once more (CostModel::Refine). If it still counts as none, the new plan is better
// only if its graph has no more operators and either the pairs left out are more gains than losses,
// or as many and it has fewer operators or moves fewer bytes. `operators`: the number of operators
// of the new graph less that of the old one.
absl::StatusOr<PlanComparison> Compare(const KernelList& before, const KernelList& after,
                                       int operators, CostModel* costs);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_PLAN_COMPARISON_H_
