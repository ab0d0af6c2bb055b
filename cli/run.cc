// lemma run: execute a model, time it, compare it, profile it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/execution/compare.h"
#include "api/execution/profile.h"
#include "api/execution/roofline.h"
#include "api/execution/timing.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/common_flags.h"
#include "cli/run_steps.h"
#include "graph/onnx/tensor_proto.h"

namespace lemma::cli {
namespace {

struct RunFlags {
  CommonFlags common;
  int64_t runs = 10;
  bool profile = false, serve = false;
  std::string outputs, trace;
  std::vector<std::string> expect;
  StepFlags steps;
};

absl::Status SaveOutputs(const Graph& graph, const std::vector<Tensor>& outputs,
                         const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    absl::Status saved =
        WriteFileAtomically(absl::StrCat(folder, "/output_", i, ".pb"),
                            {SerializeTensorProto(graph.output_names()[i], outputs[i])});
    if (!saved.ok()) return saved;
  }
  return absl::OkStatus();
}

// The worst difference from the expected tensors; InvalidArgument if their number is wrong.
absl::StatusOr<api::OutputDifference> CompareWithFiles(const Graph& graph,
                                                       const std::vector<Tensor>& outputs,
                                                       const std::vector<std::string>& files) {
  auto expected = ReadTensors(files, "output_");
  if (!expected.ok()) return expected.status();
  if (expected->size() != outputs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--expect: ", expected->size(),
                                                   " tensors given, the model has ", outputs.size(),
                                                   " outputs"));
  }
  return api::CompareOutputs(graph, outputs, *expected);
}

// Obeys "run N", "save DIR" and "quit" on standard input, one line of JSON each.
absl::Status Serve(const Graph& graph, Executable* executable, absl::Span<const Tensor> inputs) {
  std::puts("{\"ready\":true}");
  std::fflush(stdout);
  std::string line;
  while (std::getline(std::cin, line)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    int64_t count = 0;
    if (words.empty()) continue;
    if (words[0] == "quit") break;
    if (words[0] == "run" && words.size() == 2 && absl::SimpleAtoi(words[1], &count)) {
      auto ms = api::TimeRuns(executable, inputs, static_cast<int>(count));
      if (!ms.ok()) return ms.status();
      Json reply = Json::Object();
      reply.Set("ms", Json::Array(*ms));
      std::puts(reply.ToString().c_str());
    } else if (words[0] == "save" && words.size() == 2) {
      auto outputs = executable->Run(inputs);
      if (!outputs.ok()) return outputs.status();
      if (absl::Status s = SaveOutputs(graph, *outputs, words[1]); !s.ok()) return s;
      std::puts(absl::StrCat("{\"saved\":", outputs->size(), "}").c_str());
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--serve: '", line, "' is none of: run N, save DIR, quit"));
    }
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

struct Report {
  std::vector<double> ms;
  MemoryUse memory;
  std::vector<KernelTiming> kernels;
  api::Roofline roofline;
  bool compared = false;
  api::OutputDifference difference;
};

void Print(const RunFlags& flags, const api::Model& model, const Report& report) {
  if (flags.common.json) {
    Json json = Json::Object();
    json.Set("graph", model.graph.name()).Set("backend", flags.common.backend);
    json.Set("threads", flags.common.threads).Set("operators", model.graph.num_ops());
    json.Set("median_ms", api::Median(report.ms)).Set("ms", Json::Array(report.ms));
    json.Set("peak_bytes", report.memory.planned_bytes);
    json.Set("weight_bytes", report.memory.weight_bytes);
    if (report.compared) {
      json.Set("equal", report.difference.ok).Set("difference", report.difference.largest);
      json.Set("allowed", report.difference.allowed);
    }
    if (flags.profile) {
      const api::ProfileTotals totals = api::TotalsOf(report.kernels, report.roofline);
      json.Set("roof_flops_per_second", report.roofline.flops_per_second);
      json.Set("roof_bytes_per_second", report.roofline.bytes_per_second);
      json.Set("flops", totals.work.flops).Set("roof", totals.roof).Set("mfu", totals.mfu);
      json.Set("kernels", api::ProfileJson(report.kernels, report.roofline));
    }
    std::puts(json.ToString().c_str());
    return;
  }
  if (flags.profile) std::fputs(api::ProfileTable(report.kernels, report.roofline).c_str(), stdout);
  std::printf("%s: %d operators on %s, %d thread%s\n", model.graph.name().c_str(),
              model.graph.num_ops(), flags.common.backend.c_str(),
              static_cast<int>(flags.common.threads), flags.common.threads == 1 ? "" : "s");
  std::printf("time         %s (median of %d)\n", FormatMs(api::Median(report.ms)).c_str(),
              static_cast<int>(report.ms.size()));
  std::printf("peak memory  %s of values, %s of weights\n",
              FormatBytes(static_cast<double>(report.memory.planned_bytes)).c_str(),
              FormatBytes(static_cast<double>(report.memory.weight_bytes)).c_str());
  if (report.compared) {
    const api::OutputDifference& d = report.difference;
    std::printf("outputs      %s: %s\n",
                !d.ok          ? "DIFFER"
                : d.compared() ? "as expected"
                               : "as far as can be told",
                d.ToString().c_str());
  }
}

// Profiles the executable as the flags ask for.
absl::Status Profile(const RunFlags& flags, const api::Model& model, Backend* backend,
                     const CompileOptions& options, Executable* executable,
                     absl::Span<const Tensor> inputs, Report* report) {
  if (flags.profile) {
    auto kernels = api::ProfileRuns(executable, inputs, static_cast<int>(flags.runs));
    if (!kernels.ok()) return kernels.status();
    report->kernels = *std::move(kernels);
    auto roofline = api::MeasureRoofline(backend, options);
    if (!roofline.ok()) return roofline.status();
    report->roofline = *roofline;
  }
  if (flags.trace.empty()) return absl::OkStatus();
  std::vector<KernelTiming> rows;
  auto outputs = executable->RunTimed(inputs, &rows);
  if (!outputs.ok()) return outputs.status();
  const std::string process = absl::StrCat(model.graph.name(), " on ", backend->name());
  return WriteFileAtomically(flags.trace, {api::ChromeTrace(process, rows)});
}

absl::StatusOr<int> Execute(const RunFlags& flags, const std::string& path) {
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  auto inputs = flags.common.Inputs(*model);
  if (!inputs.ok()) return api::Prefixed(path, inputs.status());
  auto backend = flags.common.MakeBackend();
  if (!backend.ok()) return backend.status();
  CompileOptions options;
  options.threads = static_cast<int>(flags.common.threads);
  auto executable = (*backend)->Compile(model->graph, options);
  if (!executable.ok()) return api::Prefixed(path, executable.status());
  if (flags.serve) {
    absl::Status served = Serve(model->graph, executable->get(), *inputs);
    if (!served.ok()) return served;
    return kExitOk;
  }
  Report report;
  auto outputs = (*executable)->Run(*inputs);  // also the warm-up
  if (!outputs.ok()) {
    return absl::Status(outputs.status().code(),
                        absl::StrCat(path, ": ", outputs.status().message()));
  }
  if (!flags.outputs.empty()) {
    absl::Status saved = SaveOutputs(model->graph, *outputs, flags.outputs);
    if (!saved.ok()) return saved;
  }
  if (!flags.expect.empty()) {
    auto difference = CompareWithFiles(model->graph, *outputs, flags.expect);
    if (!difference.ok()) return difference.status();
    report.difference = *difference;
    report.compared = true;
  }
  auto ms = api::TimeRuns(executable->get(), *inputs, static_cast<int>(flags.runs));
  if (!ms.ok()) return ms.status();
  report.ms = *std::move(ms);
  absl::Status profiled =
      Profile(flags, *model, backend->get(), options, executable->get(), *inputs, &report);
  if (!profiled.ok()) return profiled;
  report.memory = (*executable)->memory();
  Print(flags, *model, report);
  return report.compared && !report.difference.ok ? kExitNo : kExitOk;
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
  flags.List(
      "expect", &run.expect, "FILE.pb,...",
      "compare the outputs with these, or with output_0.pb, … of a folder; 1 if they differ");
  flags.Bool("serve", &run.serve, "obey 'run N', 'save DIR' and 'quit' on standard input");
  run.steps.AddTo(&flags);
  run.common.AddExecution(&flags);
  run.common.AddReuse(&flags);
  run.common.AddModel(&flags);
  auto positional = flags.Parse(arguments);
  if (!positional.ok()) return positional.status();
  if (flags.help()) {
    std::fputs(flags.Help().c_str(), stdout);
    return kExitOk;
  }
  if (run.runs < 1) return absl::InvalidArgumentError("--runs: must be at least 1");
  auto path = OneArgument("MODEL", *positional);
  if (!path.ok()) return path.status();
  if (absl::Status s = run.steps.Check(); !s.ok()) return s;
  if (run.steps.steps > 0) return RunSteps(run.steps, run.common, *path);
  return Execute(run, *path);
}

}  // namespace lemma::cli
