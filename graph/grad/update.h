// Weight updates (SGD, Adam, AdamW): the next value of a weight from its gradient.
#ifndef LEMMA_GRAPH_GRAD_UPDATE_H_
#define LEMMA_GRAPH_GRAD_UPDATE_H_

#include <functional>
#include <string>

#include "graph/ops/formula.h"

namespace lemma {

enum class UpdateKind { kSgd, kAdam, kAdamW };

// PyTorch's updates. w is the weight, g its gradient, r the learning rate, t = 1, 2, … the step
// number, d is weight_decay, m and v are the update's variables, m', v' and w' are new values, and
// g' is the gradient with weight decay:
//   sgd:    g' = g + d w; without momentum w' = w - r g'; with momentum
//           m' = momentum m + g', w' = w - r m', or with nesterov w' = w - r (g' + momentum m')
//   adam:   g' = g + d w, m' = beta1 m + (1 - beta1) g', v' = beta2 v + (1 - beta2) g'²,
//           w' = w - (r / (1 - beta1^t)) m' / (sqrt(v') / sqrt(1 - beta2^t) + epsilon)
//   adamw:  as adam with g' = g, applied to w - r d w instead of w
struct Update {
  UpdateKind kind = UpdateKind::kSgd;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

  // Whether the update needs t.
  bool counts_steps() const { return kind != UpdateKind::kSgd; }
};

struct UpdateInput {
  Value weight, gradient, rate;  // of one element type; the rate is a scalar
  Value step;                    // t, a scalar of that element type; empty unless counts_steps()
  // `state` returns the current value of the weight's variable "m" or "v" (`suffix`), which has the
  // weight's type and starts at 0. `set_state` sets the variable's next value.
  std::function<Value(const std::string& suffix)> state;
  std::function<void(const std::string& suffix, const Value& next)> set_state;
};

// The next value of the weight. Calls in.state and in.set_state once for each variable that the
// update has: m for SGD with momentum; m and v for Adam and AdamW. If f.status() is an error, the
// result is meaningless.
Value UpdatedWeight(Formula& f, const Update& update, const UpdateInput& in);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_UPDATE_H_
