// lemma costs check: what the measured costs predict for a model, beside what it takes.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/costs.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

// Milliseconds; of several kernels their sum.
struct Times {
  int kernels = 0;
  double predicted = 0, in_run = 0;
};

void PrintTable(const api::Calibration& report) {
  std::map<std::string, Times> kinds;
  Times all;
  for (const auto& [timing, kind, predicted_ms] : report.kernels) {
    for (Times* times : {&kinds[kind], &all}) {
      ++times->kernels;
      times->predicted += predicted_ms;
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
  std::printf("the whole run takes %.3f ms, %.2f of it predicted\n", report.run_ms,
              report.predicted_ms / std::max(report.run_ms, 1e-9));
  if (report.learned > 0)
    std::printf("learned the times of %d kernels\n", static_cast<int>(report.learned));
}

void PrintJson(const api::Calibration& report) {
  Json kernels = Json::Array();
  for (const auto& [timing, kind, predicted_ms] : report.kernels) {
    Json kernel = Json::Object();
    kernel.Set("signature", timing.signature).Set("value", timing.label);
    kernel.Set("predicted_ms", predicted_ms).Set("ms", timing.ms);
    kernels.Add(std::move(kernel));
  }
  Json json = Json::Object();
  json.Set("predicted_ms", report.predicted_ms).Set("ms", report.run_ms);
  json.Set("measuring_seconds", report.measuring_seconds).Set("learned", report.learned);
  json.Set("kernels", std::move(kernels));
  std::puts(json.ToString().c_str());
}

}  // namespace

absl::StatusOr<int> RunCostsCheck(Arguments arguments) {
  CommonFlags common;
  api::CalibrationOptions options;
  Flags flags("costs check", "MODEL",
              "Compares what the measured costs of its kernels predict for a model with the times "
              "of the kernels in its run. Kernels without costs are measured.");
  flags.String("cost-db", &options.database, "FILE", "where measured costs are kept");
  flags.Int("runs", &options.runs, "executions");
  flags.Bool("learn", &options.learn,
             "keep the times in the run: they correct the costs from now on");
  common.AddExecution(&flags);
  common.AddModel(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  auto model = common.Load(*path);
  if (!model.ok()) return model.status();
  options.execution = common.Execution();
  options.inputs = common.InputValues();
  auto report = api::Calibrate(*model, options);
  if (!report.ok()) return WithFlags(report.status());
  if (common.json) {
    PrintJson(*report);
  } else {
    PrintTable(*report);
  }
  return kExitOk;
}

}  // namespace lemma::cli
