// lemma optimize: rewrites a model so that it runs faster, and writes it.
#include "cli/optimize/optimize.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/costs.h"
#include "api/optimization/certificate_file.h"
#include "api/optimization/hints.h"
#include "api/quantize.h"
#include "api/report.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/optimize/print.h"
#include "cli/optimize/progress.h"
#include "graph/sizes/specialize.h"

namespace lemma::cli {
namespace {

absl::Status With(const absl::Status& status, absl::string_view advice) {
  return absl::Status(status.code(), absl::StrCat(status.message(), "; ", advice));
}

// The library's error in the command's words.
absl::Status InFlags(const OptimizeFlags& flags, const OptimizeListener& listener,
                     const absl::Status& status) {
  if (absl::IsCancelled(status)) return InterruptedError();
  if (absl::IsFailedPrecondition(status) && listener.refuses_unproved()) {
    const std::string path = flags.rules.empty() ? "data/rules/starter.txt" : flags.rules;
    return With(status, absl::StrCat("lemma verify ", path, " -o ", path,
                                     " proves the rules and records it; --allow-unproved does "
                                     "without"));
  }
  return WithFlags(status);
}

// The sizes to optimize for; a note says which ones nobody gave.
absl::StatusOr<std::vector<optimizer::SizeHint>> HintsFor(const OptimizeFlags& flags,
                                                          const api::Model& model) {
  if (IsSymbolic(model.graph) && (flags.memory_limit > 0 || flags.pet == "on")) {
    return absl::InvalidArgumentError(
        absl::StrCat(flags.pet == "on" ? "--pet" : "--memory-limit",
                     ": not for all sizes of symbolic dimensions; --dim gives them numbers"));
  }
  auto hints = api::HintsFor(model, {flags.hints, flags.common.InputValues(),
                                     flags.common.Execution(), flags.execution != "off"});
  if (!hints.ok()) return WithFlags(hints.status());
  if (hints->are_usual) {
    const std::string sizes = absl::StrJoin(hints->sizes[0].sizes, ",", absl::PairFormatter("="));
    PrintNote(flags.common.json,
              absl::StrCat("optimized for ", sizes, "; --hint says other sizes"));
  }
  return std::move(hints->sizes);
}

absl::StatusOr<Outcome> Find(const OptimizeFlags& flags, const api::Model& model,
                             const std::vector<optimizer::SizeHint>& hints,
                             const std::vector<Tensor>& inputs, const Deadline& deadline) {
  const Graph& input = model.graph;
  OptimizeListener listener(flags, input);
  api::OptimizeOptions options = flags.Options();
  options.hints = hints;
  options.execution.backend_options.ort.info = std::make_shared<OnnxInfo>(model.info);
  if (!options.keeps_barriers) api::SetForOnnx(model, flags.loops == "keep", &options);
  options.deadline = deadline;
  options.on_progress = [&](const api::OptimizeProgress& progress) { listener(progress); };
  api::WantedKernels wanted(flags.device);
  if (!flags.wanted.empty()) {
    options.costs.on_estimate = [&](const PlannedKernel& kernel, double ms) {
      wanted.Add(kernel, ms);
    };
  }
  auto result = api::Optimize(input, inputs, options);
  listener.End();
  if (!result.ok()) return InFlags(flags, listener, result.status());
  if (!flags.wanted.empty()) {
    if (absl::Status s = WriteFileAtomically(flags.wanted, {wanted.Text()}); !s.ok()) return s;
    const bool one = wanted.size() == 1;
    PrintNote(flags.common.json,
              absl::StrCat(FormatCount(static_cast<int64_t>(wanted.size()), "kernel"), " of ",
                           flags.device, one ? " has" : " have", " no cost and ",
                           one ? "was" : "were", " estimated: ", flags.wanted,
                           wanted.left_out() == 0
                               ? ""
                               : absl::StrCat("; ", wanted.left_out(), " more cannot be written")));
  }
  return Outcome{*std::move(result), listener.search_start_bytes(), listener.search_peak_bytes()};
}

// --seconds, and Ctrl-C while a search runs.
Deadline DeadlineOf(const OptimizeFlags& flags) {
  return Deadline::After(flags.seconds, &InterruptScope::Flag());
}

// Searches only; executes and writes nothing.
absl::StatusOr<int> OnlyExplain(const OptimizeFlags& flags, const std::string& path) {
  auto model = flags.common.Load(path, api::LeastSizes(flags.hints));
  if (!model.ok()) return model.status();
  auto hints = HintsFor(flags, *model);
  if (!hints.ok()) return hints.status();
  auto outcome = Find(flags, *model, *hints, {}, DeadlineOf(flags));
  if (!outcome.ok()) return outcome.status();
  Print(flags, model->graph, *outcome);
  return kExitOk;
}

int NothingFits(const OptimizeFlags& flags, const api::Acceptance& accepted) {
  std::fprintf(stderr,
               "lemma: nothing that was found keeps to --memory-limit, %lld bytes: the least needs "
               "%lld, the input %lld; nothing was written%s\n",
               static_cast<long long>(flags.memory_limit),
               static_cast<long long>(*accepted.least_bytes),
               static_cast<long long>(accepted.memory_before.planned_bytes),
               flags.Options().keeps_barriers
                   ? ""
                   : "; ONNX cannot hold values that are computed again: .pb and .lemma can");
  return kExitNo;
}

// Writes the model, its certificate and the report. Replaces no file before all of them are
// complete on disk.
absl::Status Write(const OptimizeFlags& flags, const std::string& path, const api::Model& model,
                   const std::vector<optimizer::SizeHint>& hints, const api::InputRecord& record,
                   const Outcome& outcome, const std::vector<Tensor>& inputs,
                   const Deadline& deadline) {
  std::vector<std::string> notes;
  auto files = api::StageOptimized(model, record, outcome.result, flags.output,
                                   flags.CertificatePath(), &notes);
  if (absl::IsFailedPrecondition(files.status())) {
    return With(files.status(), "--certificate=none does without");
  }
  if (!files.ok()) return files.status();
  for (const std::string& note : notes) {
    PrintNote(flags.common.json, absl::StrCat(flags.output, ": ", note));
  }
  if (!flags.report.empty()) {
    api::OptimizeOptions options = flags.Options();
    options.deadline = deadline;
    options.hints = hints;
    const std::string certificate = flags.CertificatePath();
    auto staged = api::StageReport(model.graph, inputs, options, outcome.result,
                                   {path, flags.output, certificate, "", flags.command},
                                   certificate.empty() ? nullptr : &files->back(), flags.report);
    if (!staged.ok()) return staged.status();
    files->push_back(*std::move(staged));
  }
  return CommitAll(*std::move(files));
}

// The error if the quantization was interrupted.
absl::Status Interrupted(const OptimizeFlags& flags) {
  return absl::CancelledError(absl::StrCat(
      "interrupted: nothing was quantized; the optimized model in f32 is in ", flags.output));
}

// Where a quantized result goes, and in which form. Empty: nothing is quantized.
struct Quantization {
  std::string output, form;
};

// Quantizes the model that was optimized. Its symbolic dimensions get the sizes of the samples.
absl::StatusOr<api::QuantizedIfFaster> QuantizeResult(const OptimizeFlags& flags,
                                                      const Quantization& quantization) {
  api::QuantizeOptions options;
  options.form = quantization.form;
  options.calibration = flags.calibration;
  options.max_error = flags.max_error;
  // Random samples have the sizes for which the model was optimized, if they were given.
  if (flags.HasRandomSamples() && !flags.hints.empty()) options.dims = flags.hints[0];
  options.seed = flags.common.seed;
  options.int_range = flags.common.int_range;
  options.runs = flags.runs;
  options.execution = flags.common.Execution();
  InterruptScope interrupt;
  options.interrupted = &interrupt.flag();
  ProgressLine progress(flags.common.json);
  options.progress = [&](const std::string& what) { progress.Show(what); };
  auto result = api::QuantizeIfFaster(flags.output, quantization.output, options);
  progress.Clear();
  if (absl::IsCancelled(result.status())) return Interrupted(flags);
  return result;
}

absl::StatusOr<int> Optimize(const OptimizeFlags& flags, const std::string& path,
                             const Quantization& quantization) {
  if (flags.output.empty()) return OnlyExplain(flags, path);
  auto format = api::FormatOfPath(flags.output);
  if (!format.ok()) return format.status();
  absl::Status writable = api::CheckOutputs(
      {flags.output, flags.CertificatePath(), flags.report, flags.wanted, quantization.output},
      {path, flags.cost_db});
  if (!writable.ok()) return writable;
  auto model = flags.common.Load(path, api::LeastSizes(flags.hints));
  if (!model.ok()) return model.status();
  if (!flags.CertificatePath().empty()) {
    absl::Status s = api::CheckFixedInputs(*model);
    if (!s.ok()) return With(api::Prefixed(path, s), "--certificate=none does without");
  }
  auto record = api::RecordInput(path, *model, flags.common.dims);
  if (!record.ok()) return record.status();
  if (flags.common.reseed >= 0) record->reseed = flags.common.reseed;

  // Inputs that cannot be had should be reported before the search.
  auto hints = HintsFor(flags, *model);
  if (!hints.ok()) return hints.status();
  absl::StatusOr<std::vector<Tensor>> inputs = std::vector<Tensor>();
  if (flags.execution == "on") inputs = api::InputsFor(*model, *hints, flags.common.InputValues());
  if (!inputs.ok()) return WithFlags(inputs.status());
  const Deadline deadline = DeadlineOf(flags);
  auto outcome = Find(flags, *model, *hints, *inputs, deadline);
  if (!outcome.ok()) return outcome.status();
  if (!outcome->result.fits()) return NothingFits(flags, outcome->result.accepted);
  absl::Status written = Write(flags, path, *model, *hints, *record, *outcome, *inputs, deadline);
  if (!written.ok()) return written;
  const std::string& output = quantization.output;
  if (output.empty()) {
    Print(flags, model->graph, *outcome);
    return kExitOk;
  }
  if (!flags.common.json) Print(flags, model->graph, *outcome);
  if (outcome->result.search.stop == optimizer::StopReason::kCancelled) return Interrupted(flags);
  auto quantized = QuantizeResult(flags, quantization);
  if (!quantized.ok()) return quantized.status();
  PrintQuantized(flags, model->graph, *outcome, output, *quantized);
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunOptimize(Arguments arguments) {
  OptimizeFlags optimize;
  optimize.command = {"lemma", "optimize"};
  optimize.command.insert(optimize.command.end(), arguments.begin(), arguments.end());
  Flags flags("optimize", "MODEL -o OUT",
              "Rewrites a model so that it runs faster, and writes it. What does not pay when both "
              "are executed is not kept; a model with unknown operators is not executed.");
  optimize.AddTo(&flags);
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    optimize.SetEffort(flags);
    if (optimize.target != "lemma") {
      if (flags.Given("backend")) return absl::InvalidArgumentError("--backend: not with --target");
      optimize.common.backend = optimize.target;
    }
    if (absl::Status s = optimize.Check(); !s.ok()) return s;
    const auto format = api::FormatOfPath(optimize.output);
    optimize.common.symbolic = !format.ok() || *format == api::ModelFormat::kOnnx;
    if (!optimize.Quantizes()) {
      for (const char* flag : {"max-error", "calibration"}) {
        if (flags.Given(flag)) {
          return absl::InvalidArgumentError(
              absl::StrCat("--", flag, ": only with --numerics=quantize or tf32"));
        }
      }
      return Optimize(optimize, path, {});
    }
    const std::string form = optimize.numerics == "tf32" ? "tf32" : "static";
    return Optimize(optimize.BeforeQuantizing(), path, {optimize.output, form});
  });
}

}  // namespace lemma::cli
