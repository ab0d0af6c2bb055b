// lemma run: executes a model, times it, compares it, profiles it.
#include "api/run.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/execution/profile.h"
#include "api/execution/run_server.h"
#include "api/json/run.h"
#include "api/models/tensor_files.h"
#include "api/session.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/run_steps.h"

namespace lemma::cli {
namespace {

struct RunFlags {
  CommonFlags common;
  int64_t runs = 10;
  bool profile = false, serve = false;
  std::vector<DimValues> sizes;
  int64_t max_plans = api::SessionOptions().max_plans;
  std::string outputs, trace;
  bool npy = false;
  std::vector<std::string> expect;
  StepFlags steps;
};

// Runs one model at all of --sizes.
absl::StatusOr<int> ExecuteAtSizes(RunFlags& flags, const std::string& path) {
  if (flags.profile || flags.serve || !flags.trace.empty() || !flags.outputs.empty() ||
      !flags.expect.empty() || !flags.common.inputs.empty()) {
    return absl::InvalidArgumentError(
        "--sizes: not with --inputs, --expect, --outputs, --profile, --trace or --serve, which are "
        "about one size; --dim gives that");
  }
  flags.common.symbolic = true;
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  api::SessionOptions options;
  options.execution = flags.common.Execution();
  options.max_plans = static_cast<int>(std::min<int64_t>(flags.max_plans, 1 << 20));
  auto session = api::Session::Open(*model, options);
  if (!session.ok()) return session.status();
  auto timings =
      api::TimeAtSizes(session->get(), flags.sizes, flags.common.InputValues(), flags.runs);
  if (!timings.ok()) return timings.status();
  flags.common.json ? PrintJson(ToJson(**session, *timings)) : PrintText(TextOf(*timings));
  return kExitOk;
}

api::TensorFormat FormatOf(const RunFlags& flags) {
  return flags.npy ? api::TensorFormat::kNpy : api::TensorFormat::kProto;
}

// An error if a result would be written over the model at `path`.
absl::Status CheckResults(const RunFlags& flags, const std::string& path, size_t outputs) {
  std::vector<std::string> results = {flags.trace};
  for (size_t i = 0; i < outputs && !flags.outputs.empty(); ++i) {
    const std::string file = api::OutputPath(flags.outputs, i, FormatOf(flags));
    std::error_code error;
    if (std::filesystem::exists(file, error)) results.push_back(file);
  }
  return api::CheckOutputs(results, {path});
}

absl::StatusOr<int> Execute(const RunFlags& flags, const std::string& path) {
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  const size_t outputs = model->graph.outputs().size();
  if (absl::Status s = CheckResults(flags, path, outputs); !s.ok()) return s;
  if (flags.serve) {
    auto prepared =
        api::PreparedModel::Make(*model, flags.common.Execution(), flags.common.InputValues());
    if (!prepared.ok()) return prepared.status();
    absl::Status served = api::ServeRuns(&*prepared, std::cin, std::cout);
    if (!served.ok()) return served;
    return kExitOk;
  }
  api::RunOptions options;
  options.execution = flags.common.Execution();
  options.inputs = flags.common.InputValues();
  options.runs = flags.runs;
  options.profile = flags.profile;
  options.trace = !flags.trace.empty();
  options.expect = flags.expect;
  options.on_outputs = [&](const std::vector<Tensor>& outputs) {
    if (flags.outputs.empty()) return absl::OkStatus();
    return api::SaveOutputs(model->graph, outputs, flags.outputs, FormatOf(flags));
  };
  auto result = api::Run(*model, options);
  if (!result.ok()) return result.status();
  if (!flags.trace.empty()) {
    const std::string process = absl::StrCat(model->graph.name(), " on ", result->backend);
    absl::Status written =
        WriteFileAtomically(flags.trace, {api::ChromeTrace(process, result->trace)});
    if (!written.ok()) return written;
  }
  PrintResult(flags.common.json, *model, options, *result);
  return result->difference && !result->difference->ok ? kExitNo : kExitOk;
}

}  // namespace

absl::StatusOr<int> RunRun(Arguments arguments) {
  RunFlags run;
  Flags flags("run", "MODEL",
              "Executes a model and times it. With --steps, trains: MODEL is a training step.");
  flags.Int("runs", &run.runs, "timed executions, after one that is not");
  flags.Bool(
      "profile", &run.profile,
      "time, operations and bytes of every kernel, beside what this machine reaches at most");
  flags.String("trace", &run.trace, "FILE.json", "write when each kernel ran, for Perfetto");
  flags.String("outputs", &run.outputs, "DIR", "write the outputs to DIR/output_0.pb, …");
  flags.Bool("npy", &run.npy, "write the outputs as NumPy files, output_0.npy, …");
  flags.List(
      "expect", &run.expect, "FILE,...",
      "compare the outputs with these, or with output_0.pb, … of a folder; 1 if they differ");
  flags.SizeSets("sizes", &run.sizes,
                 "runs at these sizes of symbolic dimensions, each time it is given, in one "
                 "process: the first run at a size prepares it");
  flags.Int("max-plans", &run.max_plans, "sizes that stay prepared");
  flags.Bool("serve", &run.serve, "obey 'run N', 'save DIR' and 'quit' on standard input");
  run.steps.AddTo(&flags);
  run.common.AddExecution(&flags);
  run.common.AddCuda(&flags);
  run.common.AddModel(&flags);
  return ParseAndRun(&flags, arguments, [&](const Positional& positional) -> absl::StatusOr<int> {
    if (run.runs < 1) return absl::InvalidArgumentError("--runs: must be at least 1");
    auto path = OneArgument("MODEL", positional);
    if (!path.ok()) return path.status();
    if (absl::Status s = run.steps.Check(); !s.ok()) return s;
    if (run.steps.options.steps > 0) return RunSteps(run.steps, run.common, *path);
    auto status = run.sizes.empty() ? Execute(run, *path) : ExecuteAtSizes(run, *path);
    return status.ok() ? status : WithFlags(status.status());
  });
}

}  // namespace lemma::cli
