// Training: a model as a step of training, and steps run one after the other.
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
  TrainingOptions details;             // its kinds of loss and update are those named above
  // A learning rate to note in the state, a number as text; runs can say another. "": none.
  std::string lr;
};
std::vector<std::string> LossNames();
std::vector<std::string> UpdateNames();

// InvalidArgument if an option is out of range or excludes another: MakeTrainingStep then refuses
// any model. Errors name options as option clip_norm.
absl::Status CheckTrainingStepOptions(const TrainingStepOptions& options);

struct TrainingStepModel {
  TrainingStep step;
  NamedTensors state;  // initial values, and metadata that runs of the step read
};
// `model` is loaded for training (LoadOptions). Errors about it begin with its path.
absl::StatusOr<TrainingStepModel> MakeTrainingStep(const Model& model,
                                                   const TrainingStepOptions& options);

// STEP.safetensors, where a step's initial state lies.
std::string StatePathOf(const std::string& step);
// Writes the step to `path`, whose ending says the format, and its state beside it: both or none.
absl::Status SaveTrainingStep(const TrainingStepModel& made, const std::string& path);

struct TrainingRunOptions {
  ExecutionOptions execution;
  BatchOptions data;
  int64_t steps = 0;       // in all, with those that a checkpoint already has
  std::string state;       // safetensors; "": beside the step (StatePathOf)
  std::string checkpoint;  // file to save the state to; "": none
  int64_t every = 100;     // steps between two checkpoints
  bool resume = false;     // go on from the checkpoint if there is one
};

// InvalidArgument if an option is out of range; errors name options as option every.
absl::Status CheckTrainingRunOptions(const TrainingRunOptions& options);
// Whether the checkpoint can be written and takes the place of no file that is read: neither of the
// step's, at `path` ("": no file), nor of the data's.
absl::Status CheckTrainingFiles(const TrainingRunOptions& options, const std::string& path);

// A state that steps of training carry on. Equal options, state and number of steps so far give
// equal values, bit for bit, whether in one process or several. Not thread-safe.
class TrainingRun {
 public:
  // `step` has inputs NAME with an output NAME.next, its state. Reads the state and compiles.
  static absl::StatusOr<TrainingRun> Start(const Model& step, const TrainingRunOptions& options);
  TrainingRun(TrainingRun&& other);
  ~TrainingRun();

  struct Progress {
    int64_t step = 0;             // steps done
    std::vector<double> scalars;  // what the step gave, in the order of scalar_names()
    double ms = 0;
  };
  // Runs the steps that are still to be done, or until *interrupted is true. Saves the state every
  // so many steps and after the last one. `on_step` is called after each, before it is saved.
  absl::Status Continue(const std::function<void(const Progress&)>& on_step,
                        const std::atomic<bool>* interrupted = nullptr);

  int64_t steps_done() const;
  const std::vector<std::string>& scalar_names() const;  // outputs of one element, without state
  int64_t state_bytes() const;
  MemoryUse memory() const;
  // Complete, or `path` is left as it was.
  absl::Status Save(const std::string& path) const;

 private:
  class State;
  explicit TrainingRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lemma::api

#endif  // LEMMA_API_TRAIN_H_
