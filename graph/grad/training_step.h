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
  std::vector<std::string> frozen;  // weights that are not trained
  // The new value of a running statistic is momentum * old + (1 - momentum) * batch, where `batch`
  // is the statistic of the batch.
  double batch_norm_momentum = 0.9;
  int64_t seed = 1;  // seed of dropouts in the first step; each step increases the seed by 1
  // If the L2 norm of all gradients together is larger than this, the gradients are scaled down to
  // this norm; 0: never.
  double clip_norm = 0;
  // The number of steps whose gradients are averaged for one update.
  int64_t accumulate = 1;
  // kF16 or kBF16: products of f32 operands take and give this type (mixed_precision.h). The
  // model's outputs, the loss, and the gradients of f32 weights stay in f32.
  DType precision = DType::kF32;
  // The factor by which the loss is multiplied before differentiation. The
  // gradients are divided by it before use. So small gradients do not become 0
  // in f16. The output `loss` is not scaled.
  double loss_scale = 1;
  // If true, the scale is a state variable instead (loss_scale.h), and `loss_scale` is not used. An
  // update with a gradient that is infinite or NaN is skipped and halves the scale. The scale
  // doubles after `scale_interval` updates in a row that are not skipped.
  bool dynamic_loss_scale = false;
  int64_t scale_interval = 2000;
};

struct TrainingStep {
  Graph graph;
  // The state is what one step hands to the next (docs/training.md). This maps the name of each
  // state variable to its initial value. A variable X is an input X of the graph, and its new value
  // is an output X.next of the same type.
  std::map<std::string, Tensor> state;
  // The number of classes for softmax cross entropy; otherwise 0.
  int64_t classes = 0;
  // The number of products of the model that take and give the 16-bit TrainingOptions::precision.
  int64_t products = 0;
  // Float weights of the model that are not trained, with the reason: scalars; and weights that the
  // loss does not depend on, unless they are frozen or running statistics.
  struct Untrained {
    std::string name, reason;
  };
  std::vector<Untrained> untrained;
};

// The graph's inputs are the model's inputs, `labels` (of LabelsType), `lr` (f32[], the learning
// rate), and the state. The state has these variables:
//   * each float weight of rank 1 or more that the loss depends on and that is
//     not frozen, under its own name; a weight that the model stores as f16 or
//     bf16 is f32 in the state;
//   * the running statistics of batch normalizations;
//   * `seed`, if there are dropouts;
//   * the update's own variables (NAME.m, NAME.v, step);
//   * with accumulate > 1, NAME.grad (the gradients added up so far) and `micro` (their number);
//   * with dynamic_loss_scale, `loss_scale` and `good_steps` (LossScale). If a gradient is infinite
//     or NaN, all other variables except `seed`, NAME.grad and `micro` keep their bits.
// The outputs are `loss`, then X.next for each state variable X, in the order of the inputs.
//
// InvalidArgument, with the reason, in these cases:
//   * the model lacks an output or weight that the options name;
//   * the output does not fit the loss (LabelsType);
//   * a weight to be trained has no values, or nothing can be trained;
//   * running statistics are not weights with values, or belong to two batch
//     normalizations;
//   * two inputs or two outputs would have the same name;
//   * an operator between a weight and the loss is not differentiable;
//   * the loss is in f16, and a loss_scale above 65504 is used.
absl::StatusOr<TrainingStep> BuildTrainingStep(const Graph& model, const TrainingOptions& options);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_TRAINING_STEP_H_
