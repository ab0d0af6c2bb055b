// lemma costs check: what the measured costs predict for a model, beside what it takes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/timing.h"
#include "base/json.h"
#include "base/stopwatch.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "optimizer/cost/calibration.h"
#include "optimizer/cost/measured_cost.h"

namespace lemma::cli {
namespace {

constexpr double kMaxSeconds = 60;

struct CheckFlags {
  CommonFlags common;
  std::string cost_db = CostDb::DefaultPath();
  int64_t runs = 15;
  bool learn = false;
};

// Milliseconds; of several kernels their sum.
struct Times {
  int kernels = 0;
  double predicted = 0, in_run = 0;
};

struct Report {
  double predicted = 0, run = 0, measuring_seconds = 0;
  int64_t learned = 0;
  std::vector<std::pair<KernelTiming, double>> kernels;  // and what was predicted of it
};

// Adds what `costs` predict for each kernel.
absl::Status Predict(const std::vector<CostEntry>& costs, std::vector<KernelTiming> timings,
                     Report* report) {
  const Correction correction(costs);
  absl::flat_hash_map<std::string, double> alone;
  for (const CostEntry& entry : costs) alone[entry.signature] = entry.cost.median_ms;
  for (KernelTiming& timing : timings) {
    auto it = alone.find(timing.signature);
    if (it == alone.end()) {
      return absl::InternalError(absl::StrCat("executed but not planned: ", timing.signature));
    }
    const double ms = correction.Milliseconds(timing.signature, it->second);
    report->kernels.emplace_back(std::move(timing), ms);
  }
  return absl::OkStatus();
}

absl::StatusOr<Report> Measure(const CheckFlags& flags, const Graph& graph,
                               absl::Span<const Tensor> inputs, KernelMeasurer* measurer) {
  auto db = CostDb::Open(flags.cost_db);
  if (!db.ok()) return db.status();
  const int threads = static_cast<int>(flags.common.threads);
  Report report;
  const Stopwatch measuring(0);
  auto predicted = MakeMeasuredCostModel(measurer, db->get())->CostOf(graph);
  if (!predicted.ok()) return predicted.status();
  report.predicted = predicted->ms();
  report.measuring_seconds = measuring.Ms() / 1e3;
  auto backend = flags.common.MakeBackend();
  if (!backend.ok()) return backend.status();
  CompileOptions options;
  options.threads = threads;
  auto executable = (*backend)->Compile(graph, options);
  if (!executable.ok()) return executable.status();
  auto runs = api::TimeAlternating({executable->get()}, inputs, static_cast<int>(flags.runs),
                                   kMaxSeconds, threads);
  if (!runs.ok()) return runs.status();
  report.run = api::Median((*runs)[0]);
  auto timings = api::ProfileRuns(executable->get(), inputs, static_cast<int>(flags.runs));
  if (!timings.ok()) return timings.status();
  auto costs = (*db)->Entries(measurer->device());
  if (!costs.ok()) return costs.status();
  const KernelTimes in_graph = api::TimesBySignature({*timings});
  if (absl::Status s = Predict(*costs, *std::move(timings), &report); !s.ok()) return s;
  if (flags.learn) {
    auto learned = (*db)->PutInGraph(measurer->device(), in_graph);
    if (!learned.ok()) return learned.status();
    report.learned = *learned;
  }
  return report;
}

void PrintTable(const Report& report) {
  std::map<std::string, Times> kinds;
  Times all;
  for (const auto& [timing, predicted] : report.kernels) {
    for (Times* times : {&kinds[std::string(KindOfKernel(timing.signature))], &all}) {
      ++times->kernels;
      times->predicted += predicted;
      times->in_run += timing.ms;
    }
  }
  TextTable table({"<kernels", "number", "predicted ms", "in the run ms", "ratio"});
  auto row = [&table](const std::string& name, const Times& times) {
    table.Row({name, absl::StrCat(times.kernels), absl::StrFormat("%.3f", times.predicted),
               absl::StrFormat("%.3f", times.in_run),
               absl::StrFormat("%.2f", times.predicted / std::max(times.in_run, 1e-9))});
  };
  for (const auto& [kind, times] : kinds) row(kind, times);
  row("all", all);
  std::fputs(table.ToString().c_str(), stdout);
  std::printf("the whole run takes %.3f ms, %.2f of it predicted\n", report.run,
              report.predicted / std::max(report.run, 1e-9));
  if (report.learned > 0)
    std::printf("learned the times of %d kernels\n", static_cast<int>(report.learned));
}

void PrintJson(const Report& report) {
  Json kernels = Json::Array();
  for (const auto& [timing, predicted] : report.kernels) {
    Json kernel = Json::Object();
    kernel.Set("signature", timing.signature).Set("value", timing.label);
    kernel.Set("predicted_ms", predicted).Set("ms", timing.ms);
    kernels.Add(std::move(kernel));
  }
  Json json = Json::Object();
  json.Set("predicted_ms", report.predicted).Set("ms", report.run);
  json.Set("measuring_seconds", report.measuring_seconds).Set("learned", report.learned);
  json.Set("kernels", std::move(kernels));
  std::puts(json.ToString().c_str());
}

}  // namespace

absl::StatusOr<int> RunCostsCheck(Arguments arguments) {
  CheckFlags check;
  Flags flags("costs check", "MODEL",
              "Compares what the measured costs of its kernels predict for a model with the times "
              "of the kernels in its run. Kernels without costs are measured.");
  flags.String("cost-db", &check.cost_db, "FILE", "where measured costs are kept");
  flags.Int("runs", &check.runs, "executions");
  flags.Bool("learn", &check.learn,
             "keep the times in the run: they correct the costs from now on");
  check.common.AddExecution(&flags);
  check.common.AddModel(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (check.runs < 1) return absl::InvalidArgumentError("--runs: must be at least 1");
  auto measurer = check.common.MakeMeasurer();
  if (measurer == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("--backend: the kernels of ", check.common.backend, " are not measured"));
  }
  auto model = check.common.Load(*path);
  if (!model.ok()) return model.status();
  auto inputs = check.common.Inputs(*model);
  if (!inputs.ok()) return api::Prefixed(*path, inputs.status());
  auto report = Measure(check, model->graph, *inputs, measurer.get());
  if (!report.ok()) return api::Prefixed(*path, report.status());
  if (check.common.json) {
    PrintJson(*report);
  } else {
    PrintTable(*report);
  }
  return kExitOk;
}

}  // namespace lemma::cli
