// Writes training steps and training runs as JSON.
#ifndef LEMMA_API_JSON_TRAIN_H_
#define LEMMA_API_JSON_TRAIN_H_

#include <string>

#include "api/train.h"
#include "base/json.h"

namespace lemma::api {

// A step that was made from `model` and saved at `path`: an object with step and state (paths),
// operators_before, operators and variables (numbers), state_bytes, products (the number of the
// model's operators that compute in 16 bits), and untrained (names of weights).
Json ToJson(const Model& model, const TrainingStep& step, const std::string& path);

// A run: an object with graph (the step's name), backend, threads, operators (their number) and
// steps_done; outputs (by name, a list with a number for each step of the log), ms (a list) and
// median_ms (null if the log has no steps); state_bytes, and the executable's peak_bytes and
// weight_bytes.
Json ToJson(const Model& step, const ExecutionOptions& execution, const TrainingRun& run,
            const TrainingLog& log);

}  // namespace lemma::api

#endif  // LEMMA_API_JSON_TRAIN_H_
