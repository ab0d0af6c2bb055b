// Makes a training step from a model, and runs the step repeatedly (docs/training.md). Code:
// api/training.
#ifndef LEMMA_API_TRAIN_H_
#define LEMMA_API_TRAIN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
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
  std::string loss = "cross-entropy";  // of LossNames()
  std::string update = "sgd";          // of UpdateNames()
  TrainingOptions details;             // loss.kind and update.kind are replaced by those above
  // The learning rate to store in the state's metadata, a number as text; a run may override it.
  // "": none.
  std::string lr;
};
// The default comes first.
std::vector<std::string> LossNames();
std::vector<std::string> UpdateNames();

// InvalidArgument if an option is out of range or two exclude each other; MakeTrainingStep returns
// the same error. Messages name options ("option clip_norm").
absl::Status CheckTrainingStepOptions(const TrainingStepOptions& options);

struct TrainingStepModel {
  TrainingStep step;
  NamedTensors state;  // initial values, and metadata that runs of the step read
};
// `model` must have been loaded for training (LoadOptions). Messages about it begin with its path.
absl::StatusOr<TrainingStepModel> MakeTrainingStep(const Model& model,
                                                   const TrainingStepOptions& options);

// The path of a step's initial state, STEP.safetensors.
std::string StatePathOf(const std::string& step);
// Writes the step to `path`, whose ending selects the format, and its state beside it: both files,
// or none.
absl::Status SaveTrainingStep(const TrainingStepModel& made, const std::string& path);

struct TrainingRunOptions {
  ExecutionOptions execution;
  BatchOptions data;
  int64_t steps = 0;       // in total, including those done before the checkpoint was saved
  std::string state;       // file of the initial state, in safetensors; "": StatePathOf the step
  std::string checkpoint;  // file to save the state to, in safetensors; "": none
  int64_t every = 100;     // steps between two checkpoints
  bool resume = false;     // continue from the checkpoint if it exists
};

// InvalidArgument if an option is out of range. Messages name options ("option every").
absl::Status CheckTrainingRunOptions(const TrainingRunOptions& options);
// Checks that the checkpoint can be written and does not overwrite a file that is read: the step at
// `path` ("": no file) or the data.
absl::Status CheckTrainingFiles(const TrainingRunOptions& options, const std::string& path);

// A training run: the state, and the number of steps done. The state's values depend only on the
// options, the initial state and that number; a run that is split over several processes gives the
// same bits. Not thread-safe.
class TrainingRun {
 public:
  // Reads the state and compiles the step. The state variables of `step` are its inputs NAME with
  // an output NAME.next; InvalidArgument if there are none. Errors about a file begin with its
  // path.
  static absl::StatusOr<TrainingRun> Start(const Model& step, const TrainingRunOptions& options);
  TrainingRun(TrainingRun&& other);
  ~TrainingRun();

  struct Progress {
    int64_t step = 0;             // steps done, this one included
    std::vector<double> scalars;  // values of the scalar outputs, in the order of scalar_names()
    double ms = 0;                // wall-clock time of this step
  };
  // Runs the remaining steps, or fewer if *interrupted becomes true, which is no error. Saves the
  // state to the checkpoint, if there is one, every `every` steps and after the last step. Calls
  // `on_step` after each step, before saving.
  absl::Status Continue(const std::function<void(const Progress&)>& on_step,
                        const std::atomic<bool>* interrupted = nullptr);

  int64_t steps_done() const;
  const std::vector<std::string>& scalar_names() const;  // the outputs of rank 0 that are not state
  int64_t state_bytes() const;
  MemoryUse memory() const;
  // Writes the complete state, or leaves `path` unchanged.
  absl::Status Save(const std::string& path) const;

 private:
  class State;
  explicit TrainingRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lemma::api

#endif  // LEMMA_API_TRAIN_H_
