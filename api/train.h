// Makes a training step from a model, and runs the step repeatedly (docs/training.md). A training
// step is a graph of forward pass, loss, backward pass and update. Its state consists of the
// values that one step hands to the next step: the trained weights, and values of the update rule,
// such as momenta. Code: api/training.
#ifndef LEMMA_API_TRAIN_H_
#define LEMMA_API_TRAIN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "api/execution/backends.h"
#include "api/models/model_file.h"
#include "api/training/batches.h"
#include "graph/grad/training_step.h"
#include "graph/safetensors.h"
#include "runtime/executor.h"

namespace lemma::api {

struct TrainingStepOptions {
  std::string loss = "cross-entropy";  // one of LossNames()
  std::string update = "sgd";          // one of UpdateNames()
  TrainingOptions details;  // `loss` and `update` replace details.loss.kind and details.update.kind
  std::string precision = "f32";  // one of TrainingPrecisionNames(); replaces details.precision
  // "dynamic", or a positive number as text; replaces details.loss_scale and
  // details.dynamic_loss_scale. "": dynamic for f16, otherwise 1.
  std::string loss_scale;
  // The learning rate to store in the state's metadata: a number as text, not negative. A run may
  // override it. "": none.
  std::string lr;
};
// The names that `loss`, `update` and `precision` may have. The default comes first.
std::vector<std::string> LossNames();
std::vector<std::string> UpdateNames();
std::vector<std::string> TrainingPrecisionNames();

// InvalidArgument if an option is out of range, or if two options exclude each other. Messages name
// options ("option clip_norm"). MakeTrainingStep returns the same errors.
absl::Status CheckTrainingStepOptions(const TrainingStepOptions& options);

struct TrainingStepModel {
  TrainingStep step;
  NamedTensors state;  // initial values, and metadata that runs of the step read
};
// Makes a training step. `model` must have been loaded for training (LoadOptions::training).
// Messages about the model begin with its path.
absl::StatusOr<TrainingStepModel> MakeTrainingStep(const Model& model,
                                                   const TrainingStepOptions& options);

// Bytes of all state variables of a step.
int64_t StateBytes(const TrainingStep& step);
// The step, made from `model` and saved at `path`, for people. Names the weights that are not
// trained.
std::string TextOf(const Model& model, const TrainingStepOptions& options, const TrainingStep& step,
                   const std::string& path);

// The path of the initial state of the step at the path `step`: STEP.safetensors.
std::string StatePathOf(const std::string& step);
// Writes the step to `path`, whose ending selects the format, and its state to StatePathOf(path).
// Replaces no file before the new contents of all files are complete on disk.
absl::Status SaveTrainingStep(const TrainingStepModel& made, const std::string& path);

struct TrainingRunOptions {
  ExecutionOptions execution;
  BatchOptions data;
  int64_t steps = 0;       // in total, including the steps done before the state was saved
  std::string state;       // file of the initial state, in safetensors; "": StatePathOf(step.path)
  std::string checkpoint;  // file to save the state to, in safetensors; "": none
  int64_t every = 100;     // steps between two checkpoints, at least 1
  bool resume = false;     // continue from the file `checkpoint` if it exists; needs `checkpoint`
};

// InvalidArgument if an option is out of range. Messages name options ("option every").
absl::Status CheckTrainingRunOptions(const TrainingRunOptions& options);
// Returns an error if the checkpoint cannot be written, or if it would overwrite the step's file
// (`path`; "": the step was not read from a file) or the data file. OK if `checkpoint` is "".
absl::Status CheckTrainingFiles(const TrainingRunOptions& options, const std::string& path);

// A training run: the state, and the number of steps done. The state's values depend only on the
// step, the options, the initial state and the number of steps done. So a run that is stopped, and
// resumed by another process, gives the same bits as a run without a stop. Not thread-safe.
class TrainingRun {
 public:
  // Reads the state and compiles the step. The state variables of `step` are those of StatePairs
  // (graph/training_state.h), such as an input NAME with an output NAME.next; InvalidArgument if
  // there are none. Errors about a file begin with its path.
  static absl::StatusOr<TrainingRun> Start(const Model& step, const TrainingRunOptions& options);
  TrainingRun(TrainingRun&& other);
  ~TrainingRun();

  struct Progress {
    int64_t step = 0;             // number of steps done, including this one
    std::vector<double> scalars;  // values of the scalar outputs, in the order of scalar_names()
    double ms = 0;                // wall-clock time of this step
  };
  // Runs steps until TrainingRunOptions::steps are done, or until *interrupted is true. An
  // interruption is not an error. Saves the state to the checkpoint file, if the options name one,
  // every `every` steps and after the last step, also if interrupted; an error loses the steps
  // since the last checkpoint. Calls `on_step` after each step, before saving. Both arguments may
  // be null.
  absl::Status Continue(const std::function<void(const Progress&)>& on_step,
                        const std::atomic<bool>* interrupted = nullptr);

  int64_t steps_done() const;
  const std::vector<std::string>& scalar_names() const;  // the outputs of rank 0 that are not state
  int64_t state_bytes() const;                           // the size of all state values together
  // The memory of the compiled step.
  MemoryUse memory() const;
  // Writes the state to the safetensors file `path`. After an error, the file is unchanged.
  absl::Status Save(const std::string& path) const;

 private:
  class State;
  explicit TrainingRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Collects the scalar outputs and times of a run's steps, in the order of the steps.
class TrainingLog {
 public:
  // `names`: the names of the scalar outputs (TrainingRun::scalar_names).
  explicit TrainingLog(std::vector<std::string> names)
      : names_(std::move(names)), values_(names_.size()) {}
  void Add(const TrainingRun::Progress& progress);

  const std::vector<std::string>& names() const { return names_; }            // of scalar outputs
  const std::vector<std::vector<double>>& values() const { return values_; }  // by name and step
  const std::vector<double>& ms() const { return ms_; }                       // by step

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> values_;
  std::vector<double> ms_;
};
// Texts for people: one line about the step that was just added to the log; a
// summary of the whole run.
std::string TextOf(const TrainingLog& log, const TrainingRun::Progress& progress);
std::string TextOf(const Model& step, const ExecutionOptions& execution, const TrainingRun& run,
                   const TrainingLog& log);

}  // namespace lemma::api

#endif  // LEMMA_API_TRAIN_H_
