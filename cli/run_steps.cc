#include "cli/run_steps.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/execution/timing.h"
#include "base/json.h"
#include "base/text_table.h"
#include "cli/batches.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "graph/safetensors.h"
#include "runtime/plan/schedule.h"
#include "runtime/stepper.h"

namespace lemma::cli {
namespace {

constexpr char kStepKey[] = "lemma.step", kGraphKey[] = "lemma.graph";

// The state of a training run, and how far it is.
class Training {
 public:
  Training(const Graph& graph, std::unique_ptr<Executable> executable)
      : graph_(graph), stepper_(graph, std::move(executable)), inputs_(graph.inputs().size()) {}

  absl::Status SetState(NamedTensors state, const std::string& file) {
    auto graph = state.metadata.find(kGraphKey);
    if (graph != state.metadata.end() && graph->second != GraphId()) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": is the checkpoint of another step or of one optimized since"));
    }
    std::vector<Tensor> values(inputs_.size());
    for (const StatePair& pair : stepper_.pairs()) {
      const std::string& name = graph_.input_names()[pair.input];
      const TensorType& type = graph_.inputs()[pair.input].type();
      auto tensor = state.tensors.find(name);
      if (tensor == state.tensors.end()) {
        return absl::InvalidArgumentError(absl::StrCat(file, ": has no tensor ", name));
      }
      if (tensor->second.type() != type) {
        return absl::InvalidArgumentError(absl::StrCat(file, ": ", name, " is ",
                                                       tensor->second.type().ToString(),
                                                       ", the step needs ", type.ToString()));
      }
      // The step may write over it, so it has to be nobody else's.
      auto copy = Tensor::Allocate(type);
      if (!copy.ok()) return copy.status();
      std::copy_n(static_cast<const char*>(tensor->second.raw()), type.num_bytes(),
                  static_cast<char*>(copy->mutable_raw()));
      values[pair.input] = *std::move(copy);
    }
    if (absl::Status s = stepper_.SetState(std::move(values)); !s.ok()) return s;
    auto step = state.metadata.find(kStepKey);
    if (step != state.metadata.end() && (!absl::SimpleAtoi(step->second, &done_) || done_ < 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ": ", kStepKey, " is '", step->second, "', not a count of steps"));
    }
    metadata_ = std::move(state.metadata);
    return absl::OkStatus();
  }

  int64_t done() const { return done_; }
  const Executable& executable() const { return stepper_.executable(); }

  absl::Status Load(Batches* batches) { return batches->Load(done_, &inputs_); }

  // The step's outputs that are no state, by index; empty handles for the others.
  absl::StatusOr<std::vector<Tensor>> Step() {
    auto outputs = stepper_.Step(inputs_);
    if (outputs.ok()) ++done_;
    return outputs;
  }

  absl::Status Save(const std::string& file) const {
    auto values = stepper_.State();
    if (!values.ok()) return values.status();
    NamedTensors state;
    for (const StatePair& pair : stepper_.pairs()) {
      state.tensors[graph_.input_names()[pair.input]] = (*values)[pair.input];
    }
    state.metadata = metadata_;
    state.metadata[kStepKey] = absl::StrCat(done_);
    state.metadata[kGraphKey] = GraphId();
    return WriteSafetensors(file, state);
  }

  int64_t StateBytes() const {
    int64_t bytes = 0;
    for (const StatePair& pair : stepper_.pairs())
      bytes += graph_.inputs()[pair.input].type().num_bytes();
    return bytes;
  }

 private:
  std::string GraphId() const { return absl::StrFormat("%016x", graph_.StructuralHash()); }

  const Graph& graph_;
  Stepper stepper_;
  std::vector<Tensor> inputs_;                   // those that are no state
  std::map<std::string, std::string> metadata_;  // of the file that the state is from
  int64_t done_ = 0;
};

// What each step gives besides the new state: the scalars among it.
class Log {
 public:
  Log(const Graph& graph, bool json) : json_(json) {
    std::vector<bool> is_next(graph.outputs().size(), false);
    for (const StatePair& pair : StatePairs(graph)) is_next[pair.output] = true;
    for (size_t k = 0; k < graph.outputs().size(); ++k) {
      if (is_next[k] || graph.outputs()[k].type().rank() != 0) continue;
      scalars_.push_back({static_cast<int>(k), graph.output_names()[k], {}});
    }
  }

  void Add(int64_t step, const std::vector<Tensor>& outputs, double ms) {
    ms_.push_back(ms);
    std::string line = absl::StrCat("step ", step);
    for (Scalar& scalar : scalars_) {
      scalar.values.push_back(outputs[scalar.output].AtDouble(0));
      absl::StrAppendFormat(&line, "  %s %.9g", scalar.name, scalar.values.back());
    }
    if (!json_) std::printf("%s  %s\n", line.c_str(), FormatMs(ms).c_str());
    std::fflush(stdout);
  }

  const std::vector<double>& ms() const { return ms_; }

  Json ToJson() const {
    Json json = Json::Object();
    for (const Scalar& scalar : scalars_) json.Set(scalar.name, Json::Array(scalar.values));
    return json;
  }

 private:
  struct Scalar {
    int output;
    std::string name;
    std::vector<double> values;
  };
  const bool json_;
  std::vector<Scalar> scalars_;
  std::vector<double> ms_;
};

void Summarize(const CommonFlags& common, const Graph& graph, const Training& training,
               const MemoryUse& memory, const Log& log) {
  if (common.json) {
    Json json = Json::Object();
    json.Set("graph", graph.name()).Set("backend", common.backend);
    json.Set("threads", common.threads).Set("operators", graph.num_ops());
    json.Set("steps_done", training.done()).Set("outputs", log.ToJson());
    json.Set("ms", Json::Array(log.ms()));
    json.Set("median_ms", log.ms().empty() ? Json() : Json(api::Median(log.ms())));
    json.Set("state_bytes", training.StateBytes()).Set("peak_bytes", memory.planned_bytes);
    json.Set("weight_bytes", memory.weight_bytes);
    std::puts(json.ToString().c_str());
    return;
  }
  std::printf("%s: %d operators on %s, %lld steps done\n", graph.name().c_str(), graph.num_ops(),
              common.backend.c_str(), static_cast<long long>(training.done()));
  if (!log.ms().empty()) {
    std::printf("time         %s (median of %d steps)\n", FormatMs(api::Median(log.ms())).c_str(),
                static_cast<int>(log.ms().size()));
  }
  std::printf("peak memory  %s of values, %s of state\n",
              FormatBytes(static_cast<double>(memory.planned_bytes)).c_str(),
              FormatBytes(static_cast<double>(training.StateBytes())).c_str());
}

absl::StatusOr<NamedTensors> InitialState(const StepFlags& flags, const std::string& path,
                                          std::string* file) {
  std::error_code error;
  const bool resumes = flags.resume && std::filesystem::exists(flags.checkpoint, error);
  *file = resumes               ? flags.checkpoint
          : flags.state.empty() ? absl::StrCat(path, ".safetensors")
                                : flags.state;
  return ReadSafetensors(*file);
}

}  // namespace

void StepFlags::AddTo(Flags* flags) {
  flags->Int("steps", &steps, "train: executions of a training step, its state carried over");
  flags->String("state", &state, "FILE", "initial state (default MODEL.safetensors)");
  flags->String("data", &data, "FILE", "safetensors with [batches, …] of each input; or synthetic");
  flags->Int("batches", &batches, "different batches of synthetic data");
  flags->List("set", &set, "NAME=VALUE,...", "values of scalar inputs, such as lr=0.1");
  flags->String("checkpoint", &checkpoint, "FILE", "where to save the state");
  flags->Int("every", &every, "steps between two checkpoints");
  flags->Bool("resume", &resume, "go on from the checkpoint if there is one");
}

absl::Status StepFlags::Check() const {
  if (steps < 0) return absl::InvalidArgumentError("--steps: must be at least 0");
  if (batches < 1) return absl::InvalidArgumentError("--batches: must be at least 1");
  if (every < 1) return absl::InvalidArgumentError("--every: must be at least 1");
  if (resume && checkpoint.empty()) {
    return absl::InvalidArgumentError("--resume: from where? give --checkpoint FILE");
  }
  const bool trains = !state.empty() || data != "synthetic" || !set.empty() || !checkpoint.empty();
  if (steps == 0 && trains) {
    return absl::InvalidArgumentError(
        "--state, --data, --set and --checkpoint are for training: give --steps N");
  }
  return absl::OkStatus();
}

absl::StatusOr<int> RunSteps(const StepFlags& flags, const CommonFlags& common,
                             const std::string& path) {
  std::vector<std::string> read = {path};
  if (flags.data != "synthetic") read.push_back(flags.data);
  if (absl::Status s = api::CheckOutputs({flags.checkpoint}, read); !s.ok()) return s;
  auto model = common.Load(path);
  if (!model.ok()) return model.status();
  const Graph& graph = model->graph;
  if (StatePairs(graph).empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": has no state, no input NAME with an output NAME.next; lemma train makes a step"));
  }
  std::string state_file;
  auto state = InitialState(flags, path, &state_file);
  if (!state.ok()) return state.status();
  auto batches = Batches::Create(flags, common, graph, state->metadata);
  if (!batches.ok()) return api::Prefixed(path, batches.status());
  auto backend = common.MakeBackend();
  if (!backend.ok()) return backend.status();
  CompileOptions options;
  options.threads = static_cast<int>(common.threads);
  options.update_state_in_place = true;
  auto executable = (*backend)->Compile(graph, options);
  if (!executable.ok()) return api::Prefixed(path, executable.status());
  Training training(graph, *std::move(executable));
  if (absl::Status s = training.SetState(*std::move(state), state_file); !s.ok()) return s;

  Log log(graph, common.json);
  InterruptScope interrupt;
  while (training.done() < flags.steps && !interrupt.flag()) {
    if (absl::Status s = training.Load(&*batches); !s.ok()) return s;
    const auto start = std::chrono::steady_clock::now();
    auto outputs = training.Step();
    if (!outputs.ok()) return api::Prefixed(path, outputs.status());
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    log.Add(training.done(), *outputs, ms.count());
    const bool last = training.done() == flags.steps || interrupt.flag();
    if (flags.checkpoint.empty() || (!last && training.done() % flags.every != 0)) continue;
    if (absl::Status s = training.Save(flags.checkpoint); !s.ok()) return s;
  }
  Summarize(common, graph, training, training.executable().memory(), log);
  if (training.done() >= flags.steps) return kExitOk;
  return absl::CancelledError(absl::StrCat(
      "interrupted after step ", training.done(),
      flags.checkpoint.empty() ? "; nothing was saved: there is no --checkpoint"
                               : absl::StrCat("; --resume goes on from ", flags.checkpoint)));
}

}  // namespace lemma::cli
