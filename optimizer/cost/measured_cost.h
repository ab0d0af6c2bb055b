// Cost models that sum measured times of the kernels of a graph.
#ifndef LEMMA_OPTIMIZER_COST_MEASURED_COST_H_
#define LEMMA_OPTIMIZER_COST_MEASURED_COST_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/deadline.h"
#include "optimizer/cost/cost_db.h"
#include "optimizer/cost/cost_model.h"
#include "runtime/measure.h"

namespace lemma::optimizer {

struct MeasureOptions {
  int repetitions = 3;  // measurements per kernel; the least median counts
  // Called before each measurement, with the kernel's signature. May be empty.
  std::function<void(absl::string_view signature)> on_measure;
  // Returns the share of the machine that other processes take now, 0 to 1. Empty: the model asks
  // the system.
  std::function<double()> others_share;
  // Once the deadline is interrupted, nothing more is measured, and asking for the cost of an
  // unknown kernel returns Cancelled. The deadline's time has no effect.
  Deadline deadline;
  // Whether there is no time to measure now. Unknown kernels then cost three times what the
  // roofline of the known kernels says, so that such a kernel never makes a graph look better.
  // Empty: there is always time.
  std::function<bool()> is_late;
  // Called when a kernel is priced in this way, at least once for each such kernel. May be empty.
  std::function<void()> on_late;
};

// Sums the times of the kernels that `measurer` plans for a graph. Kernels that are not in `db` are
// measured and stored there. In two cases, a known kernel is measured again, and the result
// replaces the old one:
//   * The kernel was measured on a busy machine or more than 30 days ago, and the machine is quiet
//     now.
//   * A decision depends on the kernel, and its time is uncertain (CostModel::Refine) or was
//     measured only once (CostModel::Confirm). A time is uncertain if its standard error exceeds
//     1.5 % or, if the kernel was measured again before, 4 %. A kernel with a time in a run of a
//     whole graph is not measured again for this reason.
// Times are calibrated (optimizer/cost/calibration.h) with the kernels' times in runs of whole
// graphs that `db` holds when the first kernel is priced. As long as nothing is measured, the same
// database gives the same costs. `measurer` and `db` must outlive the model.
std::unique_ptr<CostModel> MakeMeasuredCostModel(KernelMeasurer* measurer, CostDb* db,
                                                 MeasureOptions options = {});

// As above, but measures nothing, so `device` may be any device with costs in `db`. The cost of a
// kernel that is not in `db` comes from a roofline that is fitted to the device's known kernels.
// `measurer` plans the kernels and must outlive the model; `db` is not used after this call.
// `on_estimate`, if given, is called once for each kernel that is estimated, with its milliseconds.
// Databases with the same costs give the same model. NotFound, with a list of the known devices, if
// `db` has no costs of `device`.
absl::StatusOr<std::unique_ptr<CostModel>> MakeKnownCostModel(
    KernelMeasurer* measurer, CostDb* db, absl::string_view device,
    std::function<void(const PlannedKernel& kernel, double ms)> on_estimate = nullptr);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_MEASURED_COST_H_
