// Cost as measured on a back end, kernel by kernel.
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
  // Called before each kernel that is measured.
  std::function<void(absl::string_view signature)> on_measure;
  // Once it is interrupted nothing more is measured: the cost of what is not known is Cancelled.
  Deadline deadline;
};

// The sum of the graph's kernels as `measurer` plans them. A kernel that `db` does not know is
// measured and kept there. Times are corrected by what `db` knows of runs of whole graphs when the
// model is first asked (optimizer/cost/calibration.h), so the same database gives the same costs.
// `measurer` and `db` must outlive the model.
std::unique_ptr<CostModel> MakeMeasuredCostModel(KernelMeasurer* measurer, CostDb* db,
                                                 MeasureOptions options = {});

// The same without measuring, so for any device of which `db` has costs: a kernel that it does not
// know costs what the roofline of those it knows says. Kernels are planned as `measurer` does. Two
// models of databases with the same costs give the same. NotFound, with the devices there are, if
// `db` has no costs of `device`.
absl::StatusOr<std::unique_ptr<CostModel>> MakeKnownCostModel(KernelMeasurer* measurer, CostDb* db,
                                                              absl::string_view device);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_COST_MEASURED_COST_H_
