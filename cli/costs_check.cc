// lemma costs check: compares the time that costs predict for a model with its time in a run.
#include "api/costs.h"
#include "api/json/costs.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {

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
    auto report = api::CompareCosts(*model, options);
    if (!report.ok()) return WithFlags(report.status());
    PrintResult(common.json, *report);
    return kExitOk;
  });
}

}  // namespace lemma::cli
