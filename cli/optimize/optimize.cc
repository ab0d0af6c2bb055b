// lemma optimize: rewrites a model so that it runs faster, and writes it.
#include "cli/optimize/optimize.h"

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "api/report.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/optimize/print.h"
#include "cli/optimize/progress.h"

namespace lemma::cli {
namespace {

absl::Status With(const absl::Status& status, absl::string_view advice) {
  return absl::Status(status.code(), absl::StrCat(status.message(), "; ", advice));
}

// The library's error in the command's words.
absl::Status InFlags(const OptimizeFlags& flags, const OptimizeListener& listener,
                     const absl::Status& status) {
  if (absl::IsCancelled(status)) return InterruptedError();
  if (!absl::IsFailedPrecondition(status)) return status;
  if (listener.refuses_unproved()) {
    const std::string path = flags.rules.empty() ? "data/rules/starter.txt" : flags.rules;
    return With(status, absl::StrCat("lemma verify ", path, " -o ", path,
                                     " proves the rules and records it; --allow-unproved does "
                                     "without"));
  }
  return WithFlags(status);
}

absl::StatusOr<Outcome> Find(const OptimizeFlags& flags, const Graph& input,
                             const std::vector<Tensor>& inputs, const Deadline& deadline) {
  OptimizeListener listener(flags, input);
  api::OptimizeOptions options = flags.Options();
  options.deadline = deadline;
  options.on_progress = [&](const api::OptimizeProgress& progress) { listener(progress); };
  auto result = api::Optimize(input, inputs, options);
  listener.End();
  if (!result.ok()) return InFlags(flags, listener, result.status());
  return Outcome{*std::move(result), listener.search_start_bytes(), listener.search_peak_bytes()};
}

// --seconds, and Ctrl-C while a search runs.
Deadline DeadlineOf(const OptimizeFlags& flags) {
  return Deadline::After(flags.seconds, &InterruptScope::Flag());
}

// Searches; nothing of it is executed or written.
absl::StatusOr<int> OnlyExplain(const OptimizeFlags& flags, const std::string& path) {
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  auto outcome = Find(flags, model->graph, {}, DeadlineOf(flags));
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

// The model, its certificate and the report: all of them, or none.
absl::Status Write(const OptimizeFlags& flags, const std::string& path, const api::Model& model,
                   const api::InputRecord& record, const Outcome& outcome,
                   const std::vector<Tensor>& inputs, const Deadline& deadline) {
  auto files =
      api::StageOptimized(model, record, outcome.result, flags.output, flags.CertificatePath());
  if (absl::IsFailedPrecondition(files.status())) {
    return With(files.status(), "--certificate=none does without");
  }
  if (!files.ok()) return files.status();
  if (!flags.report.empty()) {
    api::OptimizeOptions options = flags.Options();
    options.deadline = deadline;
    auto page = api::ReportOf(model.graph, inputs, options, outcome.result, {path, flags.output});
    if (!page.ok()) return page.status();
    auto staged = StagedFile::Write(flags.report, {*page});
    if (!staged.ok()) return staged.status();
    files->push_back(*std::move(staged));
  }
  return CommitAll(*std::move(files));
}

absl::StatusOr<int> Optimize(const OptimizeFlags& flags, const std::string& path) {
  if (flags.output.empty()) return OnlyExplain(flags, path);
  auto format = api::FormatOfPath(flags.output);
  if (!format.ok()) return format.status();
  absl::Status writable = api::CheckOutputs({flags.output, flags.CertificatePath(), flags.report},
                                            {path, flags.cost_db});
  if (!writable.ok()) return writable;
  auto model = flags.common.Load(path);
  if (!model.ok()) return model.status();
  if (!model->fixed_inputs.empty() && !flags.CertificatePath().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the graph holds for one value of input '", model->fixed_inputs[0],
                     "', which a certificate cannot say; --certificate=none does without"));
  }
  auto record = api::RecordInput(path, *model, flags.common.dims);
  if (!record.ok()) return record.status();
  if (flags.common.reseed >= 0) record->reseed = flags.common.reseed;

  // What cannot be run should be said before the search. Values of opaque types are no reason to
  // refuse: like opaque operators, they leave only the prediction.
  auto inputs = flags.common.Inputs(*model);
  if (absl::IsUnimplemented(inputs.status())) inputs = std::vector<Tensor>();
  if (!inputs.ok()) return api::Prefixed(path, inputs.status());
  const Deadline deadline = DeadlineOf(flags);
  auto outcome = Find(flags, model->graph, *inputs, deadline);
  if (!outcome.ok()) return outcome.status();
  if (!outcome->result.fits()) return NothingFits(flags, outcome->result.accepted);
  absl::Status written = Write(flags, path, *model, *record, *outcome, *inputs, deadline);
  if (!written.ok()) return written;
  Print(flags, model->graph, *outcome);
  return kExitOk;
}

}  // namespace

absl::StatusOr<int> RunOptimize(Arguments arguments) {
  OptimizeFlags optimize;
  Flags flags("optimize", "MODEL -o OUT",
              "Rewrites a model so that it runs faster, and writes it. What does not pay when both "
              "are executed is not kept; a model with unknown operators is not executed.");
  optimize.AddTo(&flags);
  return ParseAndRun(&flags, arguments, "MODEL", [&](const auto& path) -> absl::StatusOr<int> {
    if (absl::Status s = optimize.Check(); !s.ok()) return s;
    return Optimize(optimize, path);
  });
}

}  // namespace lemma::cli
