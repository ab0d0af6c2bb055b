// Replaces an operator by its form in training, if this differs from its form in inference.
#ifndef LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_
#define LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/formula.h"

namespace lemma {

struct TrainingContext {
  double momentum = 0.9;        // the share of the old running statistics that stays
  std::function<Value()> seed;  // an i64 scalar, for this step; called only if needed
  int64_t salt = 0;             // a different number for each node of a model; see dropout.h
};

struct TrainingReplacement {
  std::vector<Value> outputs;  // the values that replace the application's outputs, in order
  // The numbers of the inputs that hold running statistics, each with its value after this step.
  std::vector<std::pair<int, Value>> running;
};

// Replaces `node`, applied to `inputs`, for training; nullopt if it stays as it is.
//   batch_norm: normalizes by the statistics of its batch; running statistics become momentum * old
//               + (1 - momentum) * batch, with the population variance
//   dropout:    drops elements (graph/ops/random/dropout.h)
std::optional<TrainingReplacement> ReplacementInTraining(Formula& f, const Node& node,
                                                         const std::vector<Value>& inputs,
                                                         const TrainingContext& context);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_
