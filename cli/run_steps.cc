#include "cli/run_steps.h"

#include <cstdint>
#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "api/execution/timing.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/interrupt.h"

namespace lemma::cli {
namespace {

// What the steps gave so far.
class Log {
 public:
  Log(std::vector<std::string> names, bool json)
      : json_(json), names_(std::move(names)), values_(names_.size()) {}

  void Add(const api::TrainingRun::Progress& progress) {
    ms_.push_back(progress.ms);
    std::string line = absl::StrCat("step ", progress.step);
    for (size_t i = 0; i < names_.size(); ++i) {
      values_[i].push_back(progress.scalars[i]);
      absl::StrAppendFormat(&line, "  %s %.9g", names_[i], progress.scalars[i]);
    }
    if (!json_) std::printf("%s  %s\n", line.c_str(), FormatMs(progress.ms).c_str());
    std::fflush(stdout);
  }

  const std::vector<double>& ms() const { return ms_; }

  Json ToJson() const {
    Json json = Json::Object();
    for (size_t i = 0; i < names_.size(); ++i) json.Set(names_[i], Json::Array(values_[i]));
    return json;
  }

 private:
  const bool json_;
  const std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;  // by name and step
  std::vector<double> ms_;
};

void Summarize(const CommonFlags& common, const Graph& graph, const api::TrainingRun& run,
               const Log& log) {
  const MemoryUse memory = run.memory();
  if (common.json) {
    Json json = Json::Object();
    json.Set("graph", graph.name()).Set("backend", common.backend);
    json.Set("threads", common.threads).Set("operators", graph.num_ops());
    json.Set("steps_done", run.steps_done()).Set("outputs", log.ToJson());
    json.Set("ms", Json::Array(log.ms()));
    json.Set("median_ms", log.ms().empty() ? Json() : Json(api::Median(log.ms())));
    json.Set("state_bytes", run.state_bytes()).Set("peak_bytes", memory.planned_bytes);
    json.Set("weight_bytes", memory.weight_bytes);
    std::puts(json.ToString().c_str());
    return;
  }
  std::printf("%s: %d operators on %s, %lld steps done\n", graph.name().c_str(), graph.num_ops(),
              common.backend.c_str(), static_cast<long long>(run.steps_done()));
  if (!log.ms().empty()) {
    std::printf("time         %s (median of %d steps)\n", FormatMs(api::Median(log.ms())).c_str(),
                static_cast<int>(log.ms().size()));
  }
  std::printf("peak memory  %s of values, %s of state\n",
              FormatBytes(static_cast<double>(memory.planned_bytes)).c_str(),
              FormatBytes(static_cast<double>(run.state_bytes())).c_str());
}

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
  Log log(run->scalar_names(), common.json);
  InterruptScope interrupt;
  absl::Status done =
      run->Continue([&log](const auto& progress) { log.Add(progress); }, &interrupt.flag());
  if (!done.ok()) return done;
  Summarize(common, model->graph, *run, log);
  if (run->steps_done() >= options.steps) return kExitOk;
  return absl::CancelledError(absl::StrCat(
      "interrupted after step ", run->steps_done(),
      options.checkpoint.empty() ? "; nothing was saved: there is no --checkpoint"
                                 : absl::StrCat("; --resume goes on from ", options.checkpoint)));
}

}  // namespace lemma::cli
