#include "cli/run_steps.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/random_values.h"
#include "cli/text_table.h"
#include "cli/timing.h"
#include "graph/hash.h"
#include "graph/safetensors.h"
#include "runtime/plan/schedule.h"
#include "runtime/stepper.h"

namespace lemma::cli {
namespace {

// The graph's inputs that are no state, and where their values come from.
class Batches {
 public:
  static absl::StatusOr<Batches> Create(const StepFlags& flags, const CommonFlags& common,
                                        const Graph& graph,
                                        const std::map<std::string, std::string>& metadata) {
    Batches batches;
    batches.count_ = flags.batches;
    batches.seed_ = static_cast<uint64_t>(common.seed);
    batches.int_range_ = common.int_range;
    if (flags.data != "synthetic") {
      auto data = ReadSafetensors(flags.data);
      if (!data.ok()) return data.status();
      batches.data_ = *std::move(data);
      batches.count_ = 0;
    }
    std::vector<bool> is_state(graph.inputs().size(), false);
    for (const StatePair& pair : StatePairs(graph)) is_state[pair.input] = true;
    batches.metadata_ = metadata;
    std::map<std::string, double> settings;
    if (absl::Status s = ReadSettings(flags, &settings); !s.ok()) return s;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      if (is_state[i]) continue;
      absl::Status added = batches.Add(static_cast<int>(i), graph, flags, &settings);
      if (!added.ok()) return added;
    }
    for (const auto& [name, value] : settings) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set: the step takes no scalar '", name, "' besides its state and data"));
    }
    if (batches.count_ == 0) batches.count_ = 1;
    return batches;
  }

  int64_t count() const { return count_; }

  // Puts batch `step` mod count() in its places.
  absl::Status Load(int64_t step, std::vector<Tensor>* inputs) {
    const int64_t batch = step % count_;
    for (Source& source : sources_) {
      auto known = source.made.find(batch);
      if (known != source.made.end()) {
        (*inputs)[source.input] = known->second;
        continue;
      }
      auto tensor = ValueOf(source, batch);
      if (!tensor.ok()) return tensor.status();
      kept_bytes_ += source.type.num_bytes();
      if (kept_bytes_ <= kMaxKeptBytes) source.made[batch] = *tensor;
      (*inputs)[source.input] = *std::move(tensor);
    }
    return absl::OkStatus();
  }

 private:
  struct Source {
    int input = 0;
    TensorType type;
    std::string name;
    std::optional<Tensor> fixed;
    std::map<int64_t, Tensor> made;  // by batch, as far as they were asked for
  };

  static absl::Status ReadSettings(const StepFlags& flags,
                                   std::map<std::string, double>* settings) {
    for (const std::string& text : flags.set) {
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

  absl::Status Add(int input, const Graph& graph, const StepFlags& flags,
                   std::map<std::string, double>* settings) {
    Source source;
    source.input = input;
    source.type = graph.inputs()[input].type();
    source.name = graph.input_names()[input];
    auto setting = settings->find(source.name);
    auto known = metadata_.find(source.name);
    double value_in_file = 0;
    if (setting == settings->end() && known != metadata_.end() &&
        absl::SimpleAtod(known->second, &value_in_file)) {
      setting = settings->emplace(source.name, value_in_file).first;
    }
    auto given = data_.tensors.find(source.name);
    if (setting != settings->end() && source.type.rank() == 0) {
      auto value = Tensor::Filled(source.type, setting->second);
      if (!value.ok()) return value.status();
      source.fixed = *std::move(value);
      settings->erase(setting);
    } else if (given != data_.tensors.end()) {
      if (absl::Status s = CheckData(source, given->second, flags.data); !s.ok()) return s;
    } else if (source.type.rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat("the step needs a value of ", source.name,
                                                     ": give it with --set ", source.name, "=…"));
    } else if (flags.data != "synthetic") {
      return absl::InvalidArgumentError(absl::StrCat(flags.data, ": has no tensor ", source.name,
                                                     "; it needs ", BatchesOf(source.type),
                                                     ", one row for each batch"));
    }
    sources_.push_back(std::move(source));
    return absl::OkStatus();
  }

  static std::string BatchesOf(const TensorType& type) {
    return absl::StrCat(Name(type.dtype), "[batches", type.shape.empty() ? "" : ",",
                        absl::StrJoin(type.shape, ","), "]");
  }

  absl::Status CheckData(const Source& source, const Tensor& data, const std::string& file) {
    const Shape& shape = data.shape();
    const bool fits = data.dtype() == source.type.dtype && !shape.empty() && shape[0] > 0 &&
                      Shape(shape.begin() + 1, shape.end()) == source.type.shape;
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", source.name, " is ",
                                                     data.type().ToString(), ", the step needs ",
                                                     BatchesOf(source.type)));
    }
    if (count_ != 0 && count_ != shape[0]) {
      return absl::InvalidArgumentError(absl::StrCat(file, ": ", source.name, " has ", shape[0],
                                                     " batches, others have ", count_));
    }
    count_ = shape[0];
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> ValueOf(const Source& source, int64_t batch) {
    if (source.fixed) return *source.fixed;
    auto given = data_.tensors.find(source.name);
    if (given == data_.tensors.end()) {
      return RandomInput(source.type, HashCombine(HashCombine(seed_, batch), source.input),
                         int_range_);
    }
    auto row = Tensor::Allocate(source.type);
    if (!row.ok()) return row.status();
    const int64_t bytes = source.type.num_bytes();
    const char* rows = static_cast<const char*>(given->second.raw());
    std::copy_n(rows + batch * bytes, bytes, static_cast<char*>(row->mutable_raw()));
    return row;
  }

  static constexpr int64_t kMaxKeptBytes = int64_t{1} << 28;

  int64_t count_ = 0, kept_bytes_ = 0;
  uint64_t seed_ = 1;
  int64_t int_range_ = 2;
  NamedTensors data_;
  std::vector<Source> sources_;
  std::map<std::string, std::string> metadata_;  // of the state's file
};

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
    json.Set("median_ms", log.ms().empty() ? Json() : Json(Median(log.ms())));
    json.Set("state_bytes", training.StateBytes()).Set("peak_bytes", memory.planned_bytes);
    json.Set("weight_bytes", memory.weight_bytes);
    std::puts(json.ToString().c_str());
    return;
  }
  std::printf("%s: %d operators on %s, %lld steps done\n", graph.name().c_str(), graph.num_ops(),
              common.backend.c_str(), static_cast<long long>(training.done()));
  if (!log.ms().empty()) {
    std::printf("time         %s (median of %d steps)\n", FormatMs(Median(log.ms())).c_str(),
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
  if (!batches.ok()) return Prefixed(path, batches.status());
  auto backend = common.MakeBackend();
  if (!backend.ok()) return backend.status();
  CompileOptions options;
  options.threads = static_cast<int>(common.threads);
  options.update_state_in_place = true;
  auto executable = (*backend)->Compile(graph, options);
  if (!executable.ok()) return Prefixed(path, executable.status());
  Training training(graph, *std::move(executable));
  if (absl::Status s = training.SetState(*std::move(state), state_file); !s.ok()) return s;

  Log log(graph, common.json);
  InterruptScope interrupt;
  while (training.done() < flags.steps && !interrupt.flag()) {
    if (absl::Status s = training.Load(&*batches); !s.ok()) return s;
    const auto start = std::chrono::steady_clock::now();
    auto outputs = training.Step();
    if (!outputs.ok()) return Prefixed(path, outputs.status());
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
