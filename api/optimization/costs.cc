#include "api/optimization/costs.h"

#include <utility>

#include "optimizer/cost/analytic_cost.h"

namespace lemma::api {

std::unique_ptr<KernelMeasurer> MakeMeasurer(const ExecutionOptions& execution) {
  return MakeMeasurer(execution.backend, execution.threads, execution.backend_options);
}

absl::StatusOr<Costs> MakeCosts(const CostOptions& options, const ExecutionOptions& execution,
                                optimizer::MeasureOptions measure) {
  Costs costs;
  if (options.measured) costs.measurer = MakeMeasurer(execution);
  if (costs.measurer == nullptr) {
    costs.model = optimizer::MakeAnalyticCostModel();
    return costs;
  }
  auto db = optimizer::CostDb::Open(options.database);
  if (!db.ok()) return db.status();
  costs.db = *std::move(db);
  if (!options.device.empty() || !options.measure_new) {
    const std::string device = options.device.empty() ? costs.measurer->device() : options.device;
    auto known = optimizer::MakeKnownCostModel(costs.measurer.get(), costs.db.get(), device,
                                               options.on_estimate);
    if (options.device.empty() && absl::IsNotFound(known.status())) {
      costs = Costs{nullptr, nullptr, optimizer::MakeAnalyticCostModel()};
      return costs;
    }
    if (!known.ok()) return known.status();
    costs.model = *std::move(known);
    return costs;
  }
  costs.model =
      optimizer::MakeMeasuredCostModel(costs.measurer.get(), costs.db.get(), std::move(measure));
  return costs;
}

pet::CostFn Nanoseconds(optimizer::CostModel* model, bool estimate) {
  return [model, estimate](const Graph& graph) -> absl::StatusOr<int64_t> {
    auto cost = estimate ? model->EstimateOf(graph) : model->CostOf(graph);
    if (!cost.ok()) return cost.status();
    return cost->ns();
  };
}

}  // namespace lemma::api
