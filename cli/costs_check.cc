// lemma costs check: compares the time that costs predict for a model with its time in a run.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/costs.h"
#include "api/json/costs.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

// Milliseconds; for several kernels their sum.
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
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    auto model = common.Load(path);
    if (!model.ok()) return model.status();
    options.execution = common.Execution();
    options.inputs = common.InputValues();
    auto report = api::Calibrate(*model, options);
    if (!report.ok()) return WithFlags(report.status());
    common.json ? PrintJson(ToJson(*report)) : PrintTable(*report);
    return kExitOk;
  });
}

}  // namespace lemma::cli
