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
  int repetitions = 3;  // measurements per new kernel; the least median counts
  // Called before each measurement of a kernel.
  std::function<void(absl::string_view signature)> on_measure;
  // The share of the machine that other processes take now, 0 to 1; null: asks the system.
  std::function<double()> others_share;
  // After an interrupt nothing more is measured; the cost of an unknown kernel is then Cancelled.
  Deadline deadline;
};

// Sums the times of the kernels that `measurer` plans for a graph. Kernels that are not in `db` are
// measured and stored there. So are kernels that were measured on a busy machine or more than 30
// days ago, if the machine is quiet now, and kernels on which a decision depends and whose times
// are uncertain (CostModel::Refine). Times are calibrated (optimizer/cost/calibration.h) by the
// runs of whole graphs that `db` holds when the model is first used, so the same database gives the
// same costs. `measurer` and `db` must outlive the model.
std::unique_ptr<CostModel> MakeMeasuredCostModel(KernelMeasurer* measurer, CostDb* db,
                                                 MeasureOptions options = {});

// As above, but without measuring, so for any device with costs in `db`. A kernel that is not in
// `db` costs its time by a roofline fitted to the known kernels. `measurer` plans the kernels.
// Databases with the same costs give the same model. NotFound, listing the known devices, if `db`
// has no costs of `device`.
absl::StatusOr<std::unique_ptr<CostModel>> MakeKnownCostModel(KernelMeasurer* measurer, CostDb* db,
                                                              absl::string_view device);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_MEASURED_COST_H_
