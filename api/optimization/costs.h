// Makes the cost model of an optimization: measured, from a database, or estimated.
#ifndef LEMMA_API_OPTIMIZATION_COSTS_H_
#define LEMMA_API_OPTIMIZATION_COSTS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "optimizer/cost/cost_db.h"
#include "optimizer/cost/cost_model.h"
#include "optimizer/cost/measured_cost.h"
#include "pet/correctors/candidates.h"
#include "runtime/measure.h"

namespace lemma::api {

struct CostOptions {
  // True: times of kernels on this machine, measured if the database lacks them. False, or if the
  // back end's kernels cannot be measured one by one: the analytic estimate
  // (optimizer/cost/analytic_cost.h).
  bool measured = true;
  std::string database = optimizer::CostDb::DefaultPath();
  // A device that is not present, by its name in the database (KernelMeasurer::device). Its costs
  // come from the database, and nothing is measured. "": this machine.
  std::string device;
  // False: nothing is measured. Costs of this machine that the database lacks are then estimated
  // from the costs that it has; if it has none, the cost model is the analytic estimate.
  bool measure_new = true;
  // Called once for each kernel whose time is estimated because the database lacks it, with the
  // estimate in milliseconds. Estimates occur with `device`, and if `measure_new` is false. May be
  // empty.
  std::function<void(const PlannedKernel& kernel, double ms)> on_estimate;
};

// The cost model, with the objects that must outlive it.
struct Costs {
  std::unique_ptr<KernelMeasurer> measurer;  // null if `model` is the analytic estimate
  std::unique_ptr<optimizer::CostDb> db;     // null if `model` is the analytic estimate
  std::unique_ptr<optimizer::CostModel> model;
};

// `measure`: how kernels are measured, if the cost model measures any. NotFound if the database has
// no costs of `options.device`; other errors as in CostDb::Open.
absl::StatusOr<Costs> MakeCosts(const CostOptions& options, const ExecutionOptions& execution,
                                optimizer::MeasureOptions measure);

// As MakeMeasurer in api/execution/backends.h.
std::unique_ptr<KernelMeasurer> MakeMeasurer(const ExecutionOptions& execution);

// For PET (docs/pet.md): a function from a graph to its cost in nanoseconds or, with `estimate`, to
// an estimate that measures nothing. `model` must outlive the function.
pet::CostFn Nanoseconds(optimizer::CostModel* model, bool estimate);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_COSTS_H_
