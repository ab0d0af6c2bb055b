// Runs a training step again and again, and carries its state from one step to the next.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "api/models/option_error.h"
#include "api/train.h"
#include "runtime/plan/schedule.h"
#include "runtime/stepper.h"

namespace lemma::api {
namespace {

constexpr char kStepKey[] = "lemma.step", kGraphKey[] = "lemma.graph";

// The outputs of one element that are no state, by index.
std::vector<int> ScalarOutputs(const Graph& graph) {
  std::vector<bool> is_next(graph.outputs().size(), false);
  for (const StatePair& pair : StatePairs(graph)) is_next[pair.output] = true;
  std::vector<int> scalars;
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    if (is_next[k] || graph.outputs()[k].type().rank() != 0) continue;
    scalars.push_back(static_cast<int>(k));
  }
  return scalars;
}

// *file: the file from which the state is read.
absl::StatusOr<NamedTensors> InitialState(const TrainingRunOptions& options,
                                          const std::string& model_path, std::string* file) {
  std::error_code error;
  const bool resumes = options.resume && std::filesystem::exists(options.checkpoint, error);
  *file = resumes                 ? options.checkpoint
          : options.state.empty() ? StatePathOf(model_path)
                                  : options.state;
  return ReadSafetensors(*file);
}

}  // namespace

// The state, and the number of steps done.
class TrainingRun::State {
 public:
  State(const Model& step, const TrainingRunOptions& options, Batches batches,
        std::unique_ptr<Backend> backend, std::unique_ptr<Executable> executable)
      : options(options),
        path(step.path),
        graph_(step.graph),
        backend_(std::move(backend)),
        stepper_(graph_, std::move(executable)),
        inputs_(graph_.inputs().size()),
        batches_(std::move(batches)),
        scalars_(ScalarOutputs(graph_)) {
    for (int k : scalars_) scalar_names.push_back(graph_.output_names()[k]);
  }

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
      // The step may overwrite the tensor, so nobody else may share it.
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

  absl::Status Load() { return batches_.Load(done_, &inputs_); }

  absl::StatusOr<Progress> Step() {
    const auto start = std::chrono::steady_clock::now();
    auto outputs = stepper_.Step(inputs_);
    if (!outputs.ok()) return Prefixed(path, outputs.status());
    const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - start;
    Progress progress = {++done_, {}, ms.count()};
    for (int k : scalars_) progress.scalars.push_back((*outputs)[k].AtDouble(0));
    return progress;
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

  int64_t done() const { return done_; }
  const Executable& executable() const { return stepper_.executable(); }

  const TrainingRunOptions options;
  const std::string path;  // of the step's model
  std::vector<std::string> scalar_names;

 private:
  std::string GraphId() const { return absl::StrFormat("%016x", graph_.StructuralHash()); }

  const Graph graph_;
  const std::unique_ptr<Backend> backend_;  // outlives what it made
  Stepper stepper_;
  std::vector<Tensor> inputs_;  // those that are no state
  Batches batches_;
  const std::vector<int> scalars_;               // outputs
  std::map<std::string, std::string> metadata_;  // of the file that the state is from
  int64_t done_ = 0;
};

absl::Status CheckTrainingRunOptions(const TrainingRunOptions& options) {
  if (options.steps < 0) return OptionError("option steps: must be at least 0");
  if (options.data.batches < 1) return OptionError("option batches: must be at least 1");
  if (options.every < 1) return OptionError("option every: must be at least 1");
  if (options.resume && options.checkpoint.empty()) {
    return OptionError("option resume: from where? give option checkpoint FILE");
  }
  return absl::OkStatus();
}

absl::Status CheckTrainingFiles(const TrainingRunOptions& options, const std::string& path) {
  std::vector<std::string> read;
  if (!path.empty()) read.push_back(path);
  if (options.data.data != kSynthetic) read.push_back(options.data.data);
  return CheckOutputs({options.checkpoint}, read);
}

absl::StatusOr<TrainingRun> TrainingRun::Start(const Model& step,
                                               const TrainingRunOptions& options) {
  if (absl::Status s = CheckTrainingRunOptions(options); !s.ok()) return s;
  if (absl::Status s = CheckTrainingFiles(options, step.path); !s.ok()) return s;
  if (absl::Status s = CheckExecutionOptions(options.execution); !s.ok()) return s;
  if (StatePairs(step.graph).empty()) {
    return Prefixed(step.path,
                    absl::InvalidArgumentError("has no state, no input NAME with an output "
                                               "NAME.next; lemma train makes a step"));
  }
  std::string state_file;
  auto state = InitialState(options, step.path, &state_file);
  if (!state.ok()) return state.status();
  auto batches = Batches::Create(options.data, step.graph, state->metadata);
  if (!batches.ok()) return Prefixed(step.path, batches.status());
  auto backend = MakeBackend(options.execution);
  if (!backend.ok()) return backend.status();
  CompileOptions compile = CompileOptionsOf(options.execution);
  compile.update_state_in_place = true;
  auto executable = (*backend)->Compile(step.graph, compile);
  if (!executable.ok()) return Prefixed(step.path, executable.status());
  auto run = std::make_unique<State>(step, options, *std::move(batches), *std::move(backend),
                                     *std::move(executable));
  if (absl::Status s = run->SetState(*std::move(state), state_file); !s.ok()) return s;
  return TrainingRun(std::move(run));
}

TrainingRun::TrainingRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
TrainingRun::TrainingRun(TrainingRun&& other) = default;
TrainingRun::~TrainingRun() = default;

absl::Status TrainingRun::Continue(const std::function<void(const Progress&)>& on_step,
                                   const std::atomic<bool>* interrupted) {
  const TrainingRunOptions& options = state_->options;
  auto stopped = [interrupted] { return interrupted != nullptr && *interrupted; };
  bool last = steps_done() >= options.steps || stopped();
  while (!last) {
    if (absl::Status s = state_->Load(); !s.ok()) return s;
    auto progress = state_->Step();
    if (!progress.ok()) return progress.status();
    if (on_step) on_step(*progress);
    last = steps_done() == options.steps || stopped();
    if (options.checkpoint.empty() || (!last && steps_done() % options.every != 0)) continue;
    if (absl::Status s = Save(options.checkpoint); !s.ok()) return s;
  }
  return absl::OkStatus();
}

int64_t TrainingRun::steps_done() const { return state_->done(); }
const std::vector<std::string>& TrainingRun::scalar_names() const { return state_->scalar_names; }
int64_t TrainingRun::state_bytes() const { return state_->StateBytes(); }
MemoryUse TrainingRun::memory() const { return state_->executable().memory(); }
absl::Status TrainingRun::Save(const std::string& path) const { return state_->Save(path); }

void TrainingLog::Add(const TrainingRun::Progress& progress) {
  for (size_t i = 0; i < names_.size(); ++i) values_[i].push_back(progress.scalars[i]);
  ms_.push_back(progress.ms);
}

}  // namespace lemma::api
