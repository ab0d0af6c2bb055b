// Where the costs come from that an optimization goes by.
#ifndef LEMMA_API_OPTIMIZATION_COSTS_H_
#define LEMMA_API_OPTIMIZATION_COSTS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "api/execution/backends.h"
#include "base/deadline.h"
#include "optimizer/cost/cost_db.h"
#include "optimizer/cost/cost_model.h"
#include "pet/correctors/candidates.h"
#include "runtime/measure.h"

namespace lemma::api {

struct CostOptions {
  // Times of kernels on this machine, measured where the database does not know them; else an
  // estimate, as for a back end whose kernels cannot be measured one by one.
  bool measured = true;
  std::string database = optimizer::CostDb::DefaultPath();
  // A device that is not here: its costs in the database are used, and nothing is measured. "":
  // this machine.
  std::string device;
};

// The cost model and what it refers to.
struct Costs {
  std::unique_ptr<KernelMeasurer> measurer;  // null if costs are estimated, and so is `db`
  std::unique_ptr<optimizer::CostDb> db;
  std::unique_ptr<optimizer::CostModel> model;
};

// `on_measure` is called with each kernel's signature before it is measured. Once the deadline is
// interrupted, costs that are not known are Cancelled. NotFound if the database has no costs of the
// device.
absl::StatusOr<Costs> MakeCosts(const CostOptions& options, const ExecutionOptions& execution,
                                const Deadline& deadline,
                                std::function<void(absl::string_view kernel)> on_measure);

// nullptr if the back end's kernels cannot be measured one by one.
std::unique_ptr<KernelMeasurer> MakeMeasurer(const ExecutionOptions& execution);

// The cost of a graph, or an estimate of it, in nanoseconds, for PET.
pet::CostFn Nanoseconds(optimizer::CostModel* model, bool estimate);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_COSTS_H_
