// A step of training as one graph: forward, loss, backward and weight update.
#ifndef LEMMA_GRAPH_GRAD_TRAINING_STEP_H_
#define LEMMA_GRAPH_GRAD_TRAINING_STEP_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/grad/loss.h"
#include "graph/grad/update.h"
#include "graph/graph.h"

namespace lemma {

struct TrainingOptions {
  Loss loss;
  Update update;
  std::string output;               // the model's output that the loss is of; empty: the first
  std::vector<std::string> frozen;  // weights that stay as they are
  double batch_norm_momentum = 0.9;
  int64_t seed = 1;  // of dropouts, in the first step; it is one more in each step
  // Gradients are scaled down to a common L2 norm of this much if theirs is larger; 0: never.
  double clip_norm = 0;
  // Steps whose gradients are averaged for one update.
  int64_t accumulate = 1;
  // The loss is differentiated times this, and gradients divided by it before they are used, so
  // that small ones do not vanish in f16.
  double loss_scale = 1;
};

struct TrainingStep {
  Graph graph;
  // The initial values of the state: a variable X is an input X, and its new value an output X.next
  // of the same type.
  std::map<std::string, Tensor> state;
  // Of a cross-entropy: how many classes labels choose among; else 0.
  int64_t classes = 0;
  // The model's floats that stay as they are though nobody asked for it, and why.
  struct Untrained {
    std::string name, reason;
  };
  std::vector<Untrained> untrained;
};

// Inputs: the model's, `labels` (LabelsType), `lr` (f32[], the learning rate), and the state. That
// is each float weight of rank 1 or more that the loss depends on and that is not frozen, under its
// own name (f32 where the model keeps it as f16 or bf16); the running statistics of batch
// normalizations; `seed` if there are dropouts; what the update keeps (NAME.m, NAME.v, step), and
// with accumulate > 1 NAME.grad and `micro`. Outputs: `loss`, then X.next of each state variable X,
// in the order of the inputs.
//
// InvalidArgument, with the reason, if a weight has no values, a name is taken twice, nothing can
// be trained, or an operator on the way is not differentiable.
absl::StatusOr<TrainingStep> BuildTrainingStep(const Graph& model, const TrainingOptions& options);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_TRAINING_STEP_H_
