// Operators that compute something else in training than in inference.
#ifndef LEMMA_GRAPH_OPS_TRAINING_TRAINING_FORM_H_
#define LEMMA_GRAPH_OPS_TRAINING_TRAINING_FORM_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/formula.h"

namespace lemma {

struct TrainingContext {
  double momentum = 0.9;        // share of running statistics that stays
  std::function<Value()> seed;  // i64[], of this step; asked for where it is needed
  int64_t salt = 0;             // tells the applications of a model apart
};

struct TrainingForm {
  std::vector<Value> outputs;  // in the place of the application's
  // Inputs, by number, that hold what was seen so far, and what they are after this step.
  std::vector<std::pair<int, Value>> running;
};

// What stands for `node`, applied to `inputs`, in training; nullopt if it stays as it is.
//   batch_norm: normalizes by the statistics of its batch; running ones become momentum * old +
//               (1 - momentum) * now, the variance being that of the population
//   dropout:    drops (graph/ops/random/dropout.h)
std::optional<TrainingForm> FormInTraining(Formula& f, const Node& node,
                                           const std::vector<Value>& inputs,
                                           const TrainingContext& context);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OPS_TRAINING_TRAINING_FORM_H_
