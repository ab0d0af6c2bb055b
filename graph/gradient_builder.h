// The object that an operator's gradient function (OpDef::gradient) receives: it holds one
// application of the operator and the gradients of its outputs, and it applies operators.
//
// For each input x, the gradient function returns the sum over all outputs y of
// J(y, x)^T * dy. J(y, x) is the Jacobian matrix of y with respect to x, and dy
// is the gradient of y. The function builds this sum from ordinary operators,
// so a gradient can be proved, optimized and executed like any other graph.
#ifndef LEMMA_GRAPH_GRADIENT_BUILDER_H_
#define LEMMA_GRAPH_GRADIENT_BUILDER_H_

#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/ops/formula.h"

namespace lemma {

// Builds the gradient of one application. After an error, the functions that apply operators return
// empty values (Formula). A gradient function need not check for errors: its caller reads the first
// error from status().
class GradientBuilder : public Formula {
 public:
  // `result_gradients` has one value per output of `node`, of the output's type; an empty value
  // means zero. `apply` is ApplyOp (graph/builder.h).
  GradientBuilder(NodePtr node, std::vector<Value> result_gradients, Apply apply)
      : Formula(apply), node_(std::move(node)), result_gradients_(std::move(result_gradients)) {}

  const Node& node() const { return *node_; }
  int num_inputs() const { return static_cast<int>(node_->inputs().size()); }
  const Value& Input(int i) const { return node_->inputs()[i]; }
  // The application's own output: use it instead of computing it again.
  Value Output(int i = 0) const { return Value(node_, i); }
  // The gradient of output `i`; empty if it is zero.
  const Value& ResultGradient(int i = 0) const { return result_gradients_[i]; }

  // The first output of the same operator with the same attributes, applied to other inputs.
  Value Again(std::vector<Value> inputs) {
    return Op(node_->op().name, std::move(inputs), node_->attrs());
  }

 private:
  NodePtr node_;
  std::vector<Value> result_gradients_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRADIENT_BUILDER_H_
