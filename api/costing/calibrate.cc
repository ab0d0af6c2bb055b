// Compares the measured costs of kernels with their times in a run of a model.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "api/costs.h"
#include "api/execution/timing.h"
#include "api/models/option_error.h"
#include "base/stopwatch.h"
#include "optimizer/cost/calibration.h"
#include "optimizer/cost/measured_cost.h"

namespace lemma::api {
namespace {

constexpr double kMaxSeconds = 60;

// Adds what `costs` predict for each kernel.
absl::Status Predict(const std::vector<optimizer::CostEntry>& costs,
                     std::vector<KernelTiming> timings, Calibration* result) {
  const optimizer::Calibration calibration(costs);
  absl::flat_hash_map<std::string, double> alone;
  for (const optimizer::CostEntry& entry : costs) alone[entry.signature] = entry.cost.median_ms;
  for (KernelTiming& timing : timings) {
    auto it = alone.find(timing.signature);
    if (it == alone.end()) {
      return absl::InternalError(absl::StrCat("executed but not planned: ", timing.signature));
    }
    const double ms = calibration.Milliseconds(timing.signature, it->second);
    const std::string kind(optimizer::KindOfKernel(timing.signature));
    result->kernels.push_back({std::move(timing), kind, ms});
  }
  return absl::OkStatus();
}

absl::StatusOr<Calibration> Measure(const CalibrationOptions& options, const Graph& graph,
                                    absl::Span<const Tensor> inputs, KernelMeasurer* measurer,
                                    optimizer::CostDb* db) {
  Calibration result;
  const Stopwatch measuring(0);
  auto predicted = optimizer::MakeMeasuredCostModel(measurer, db)->CostOf(graph);
  if (!predicted.ok()) return predicted.status();
  result.predicted_ms = predicted->ms();
  result.measuring_seconds = measuring.Ms() / 1e3;
  auto backend = MakeBackend(options.execution);
  if (!backend.ok()) return backend.status();
  const CompileOptions compile = CompileOptionsOf(options.execution);
  auto executable = (*backend)->Compile(graph, compile);
  if (!executable.ok()) return executable.status();
  const int runs = static_cast<int>(options.runs);
  auto ms = TimeAlternating({executable->get()}, inputs, runs, kMaxSeconds, compile.threads);
  if (!ms.ok()) return ms.status();
  result.run_ms = Median((*ms)[0]);
  auto timings = ProfileRuns(executable->get(), inputs, runs);
  if (!timings.ok()) return timings.status();
  auto costs = db->Entries(measurer->device());
  if (!costs.ok()) return costs.status();
  const optimizer::KernelTimes in_graph = TimesBySignature({*timings});
  if (absl::Status s = Predict(*costs, *std::move(timings), &result); !s.ok()) return s;
  if (options.learn) {
    auto learned = db->PutInGraph(measurer->device(), in_graph);
    if (!learned.ok()) return learned.status();
    result.learned = *learned;
  }
  return result;
}

}  // namespace

absl::StatusOr<Calibration> CompareCosts(const Model& model, const CalibrationOptions& options) {
  if (absl::Status s = CheckRuns(options.runs, 1); !s.ok()) return s;
  if (absl::Status s = CheckExecutionOptions(options.execution); !s.ok()) return s;
  const ExecutionOptions& execution = options.execution;
  auto measurer = MakeMeasurer(execution.backend, execution.threads, execution.backend_options);
  if (measurer == nullptr) {
    return OptionError(
        absl::StrCat("option backend: the kernels of ", execution.backend, " are not measured"));
  }
  auto inputs = InputsOf(model, options.inputs);
  if (!inputs.ok()) return Prefixed(model.path, inputs.status());
  auto db = optimizer::CostDb::Open(options.database);
  if (!db.ok()) return db.status();  // the message names the database
  auto result = Measure(options, model.graph, *inputs, measurer.get(), db->get());
  if (!result.ok()) return Prefixed(model.path, result.status());
  return result;
}

}  // namespace lemma::api
