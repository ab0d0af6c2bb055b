// Writes training steps and training runs as JSON.
#ifndef LEMMA_API_JSON_TRAIN_H_
#define LEMMA_API_JSON_TRAIN_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/train.h"
#include "base/json.h"

namespace lemma::api {

// Bytes of all state variables of a step.
int64_t StateBytes(const TrainingStep& step);
// A step that was made from `model` and saved at `path`: an object with step and state (paths),
// operators_before, operators and variables (numbers), state_bytes, products (the number of the
// model's operators that compute in 16 bits), and untrained (names of weights).
Json ToJson(const Model& model, const TrainingStep& step, const std::string& path);

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
// A run: an object with graph (the step's name), backend, threads, operators (their number) and
// steps_done; outputs (by name, a list with a number for each step of the log), ms (a list) and
// median_ms (null if the log has no steps); state_bytes, and the executable's peak_bytes and
// weight_bytes.
Json ToJson(const Model& step, const ExecutionOptions& execution, const TrainingRun& run,
            const TrainingLog& log);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_TRAIN_H_
