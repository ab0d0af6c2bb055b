#include "cli/run_steps.h"

#include <cstdint>
#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "api/json/train.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
namespace {

absl::Status ReadSettings(const std::vector<std::string>& set,
                          std::map<std::string, double>* settings) {
  for (const std::string& text : set) {
    const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits('=', 1));
    double value = 0;
    if (parts.size() != 2 || !absl::SimpleAtod(parts[1], &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set: '", text, "' is not NAME=VALUE, VALUE a number"));
    }
    (*settings)[parts[0]] = value;
  }
  return absl::OkStatus();
}

}  // namespace

void StepFlags::AddTo(Flags* flags) {
  api::TrainingRunOptions& o = options;
  flags->Int("steps", &o.steps, "train: executions of a training step, its state carried over");
  flags->String("state", &o.state, "FILE", "initial state (default MODEL.safetensors)");
  flags->String("data", &o.data.data, "FILE",
                "safetensors with [batches, …] of each input; or synthetic");
  flags->Int("batches", &o.data.batches, "different batches of synthetic data");
  flags->List("set", &set, "NAME=VALUE,...", "values of scalar inputs, such as lr=0.1");
  flags->String("checkpoint", &o.checkpoint, "FILE", "where to save the state");
  flags->Int("every", &o.every, "steps between two checkpoints");
  flags->Bool("resume", &o.resume, "go on from the checkpoint if there is one");
}

absl::Status StepFlags::Check() const {
  if (absl::Status s = api::CheckTrainingRunOptions(options); !s.ok()) return WithFlags(s);
  const bool trains = !options.state.empty() || options.data.data != api::kSynthetic ||
                      !set.empty() || !options.checkpoint.empty();
  if (options.steps == 0 && trains) {
    return absl::InvalidArgumentError(
        "--state, --data, --set and --checkpoint are for training: give --steps N");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path) {
  api::TrainingRunOptions options = flags.options;
  options.execution = common.Execution();
  options.data.seed = common.seed;
  options.data.int_range = common.int_range;
  if (absl::Status s = api::CheckTrainingFiles(options, path); !s.ok()) return s;
  auto model = common.Load(path);
  if (!model.ok()) return model.status();
  absl::Status read = ReadSettings(flags.set, &options.data.set);
  if (!read.ok()) return api::Prefixed(path, read);
  auto run = api::TrainingRun::Start(*model, options);
  if (!run.ok()) {
    return WithFlags(run.status(), {{"ignore_index", "lemma train --ignore-index"}});
  }
  api::TrainingLog log(run->scalar_names());
  InterruptScope interrupt;
  auto on_step = [&](const api::TrainingRun::Progress& progress) {
    log.Add(progress);
    if (common.json) return;
    PrintText(TextOf(log, progress));
    std::fflush(stdout);
  };
  absl::Status done = run->Continue(on_step, &interrupt.flag());
  if (!done.ok()) return done;
  PrintResult(common.json, *model, options.execution, *run, log);
  if (run->steps_done() >= options.steps) return kExitOk;
  return absl::CancelledError(absl::StrCat(
      "interrupted after step ", run->steps_done(),
      options.checkpoint.empty() ? "; nothing was saved: there is no --checkpoint"
                                 : absl::StrCat("; --resume goes on from ", options.checkpoint)));
}

}  // namespace lemma::cli
