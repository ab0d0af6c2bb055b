// Replaces operators that behave differently in training and in inference by their training form.
#ifndef LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_
#define LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "graph/ops/formula.h"

namespace lemma {

struct TrainingContext {
  double momentum = 0.9;        // of running statistics, see below
  std::function<Value()> seed;  // gives the step's seed, an i64 scalar; called only if needed
  int64_t salt = 0;             // a different number for each node of the model
};

struct TrainingReplacement {
  std::vector<Value> outputs;  // one for each output of the node
  // The numbers of the inputs that are running statistics, with their values after this step.
  std::vector<std::pair<int, Value>> running;
};

// The replacement of `node`, applied to `inputs` instead of its own inputs; nullopt if the operator
// is the same in training. After an error, f.status() is set and outputs may be missing.
//   batch_norm: normalizes by the statistics of its batch; running statistics become
//               momentum * old + (1 - momentum) * batch, with the batch's population variance
//   dropout:    drops elements (graph/ops/random/dropout.h)
std::optional<TrainingReplacement> ReplacementInTraining(Formula& f, const Node& node,
                                                         const std::vector<Value>& inputs,
                                                         const TrainingContext& context);

}  // namespace lemma

#endif  // LEMMA_GRAPH_OPS_TRAINING_TRAINING_REPLACEMENT_H_
