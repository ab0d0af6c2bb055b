// Builds one step of training as a graph: forward pass, loss, backward pass and weight update.
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
  std::string output;  // the model's output that the loss is computed from; empty: the first
  std::vector<std::string> frozen;   // names of weights that are not trained
  double batch_norm_momentum = 0.9;  // running statistics: momentum * old + (1 - momentum) * new
  int64_t seed = 1;                  // seed of dropouts in the first step; each step adds one
  // If the L2 norm of all gradients together exceeds this, they are scaled down to it; 0: never.
  double clip_norm = 0;
  // The number of steps whose gradients are averaged for one update; at least 1.
  int64_t accumulate = 1;
  // The loss is multiplied by this before differentiation, and gradients are divided by it before
  // use, so that small gradients do not become 0 in f16.
  double loss_scale = 1;
};

struct TrainingStep {
  Graph graph;
  // The initial values of the state, by variable. A variable X is an input X of the graph, and its
  // new value is an output X.next of the same type (graph/training_state.h).
  std::map<std::string, Tensor> state;
  // The number of classes for softmax cross entropy; otherwise 0.
  int64_t classes = 0;
  // The model's float weights that are not trained although they are not frozen, and why.
  struct Untrained {
    std::string name, reason;
  };
  std::vector<Untrained> untrained;
};

// Inputs: the model's, `labels` (of type LabelsType()), `lr` (f32[], the learning rate), and the
// state. The state has these variables:
//   * each float weight of rank 1 or more that the loss depends on and that is not frozen, under
//     its own name (f32 if the model stores it as f16 or bf16);
//   * the running statistics of batch normalizations;
//   * `seed`, if there are dropouts;
//   * the update's own variables: NAME.m and NAME.v for a weight NAME, and `step` (f32[]);
//   * with accumulate > 1, NAME.grad, the sum of the gradients since the last update, each divided
//     by `accumulate`, and `micro` (f32[]), their number.
// Outputs: `loss`, then X.next for each state variable X, in the order of the inputs.
//
// InvalidArgument, with the reason, if a trained weight or running statistics have no values, a
// name would be used twice, options.output or a frozen weight does not exist, the loss does not fit
// the output, nothing can be trained, or a gradient would go through an operator that is not
// differentiable.
absl::StatusOr<TrainingStep> BuildTrainingStep(const Graph& model, const TrainingOptions& options);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_TRAINING_STEP_H_
