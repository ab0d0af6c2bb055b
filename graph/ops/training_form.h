// Operators that compute something else in training than in inference.
#ifndef LEMMA_GRAPH_OPS_TRAINING_FORM_H_
#define LEMMA_GRAPH_OPS_TRAINING_FORM_H_

#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/formula.h"

namespace lemma {

struct TrainingForm {
  std::vector<Value> outputs;  // in the place of the application's
  // Inputs, by number, that hold what was seen so far, and what they are after this step.
  std::vector<std::pair<int, Value>> running;
};

// What stands for `node`, applied to `inputs`, in training; nullopt if it stays as it is. Today
// this is so for batch normalization alone, which normalizes by the statistics of its batch:
// running ones become momentum * old + (1 - momentum) * now, the variance being that of the
// population.
std::optional<TrainingForm> FormInTraining(Formula& f, const Node& node,
                                           const std::vector<Value>& inputs, double momentum);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OPS_TRAINING_FORM_H_
