// Gives operators their form in training where it differs from inference.
#ifndef LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_
#define LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/formula.h"

namespace lemma {

struct TrainingContext {
  double momentum = 0.9;        // the share of running statistics that stays
  std::function<Value()> seed;  // i64[], for this step; called where it is needed
  int64_t salt = 0;             // differs between the applications of a model
};

struct TrainingReplacement {
  std::vector<Value> outputs;  // replace the application's outputs
  // Inputs, by number, that hold running statistics, and their values after this step.
  std::vector<std::pair<int, Value>> running;
};

// Replaces `node`, applied to `inputs`, for training; nullopt if it stays as it is.
//   batch_norm: normalizes by the statistics of its batch; running statistics become momentum * old
//               + (1 - momentum) * now, with the population variance
//   dropout:    drops elements (graph/ops/random/dropout.h)
std::optional<TrainingReplacement> ReplacementInTraining(Formula& f, const Node& node,
                                                         const std::vector<Value>& inputs,
                                                         const TrainingContext& context);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_
