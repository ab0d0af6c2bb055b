// What an operator's gradient sees: one application, and the gradients of its results.
//
// A gradient states its equation and returns, for each input, the sum over all outputs y of
// J(y, input)^T * dy, built from ordinary operators, so that everything that holds for graphs holds
// for it: it is proved about, optimized and executed like any other.
#ifndef LEMMA_GRAPH_GRADIENT_FORM_H_
#define LEMMA_GRAPH_GRADIENT_FORM_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/graph.h"

namespace lemma {

class GradientForm {
 public:
  // `result_gradients` has one value for each output of `node`, of its type; empty: it is zero.
  GradientForm(NodePtr node, std::vector<Value> result_gradients)
      : node_(std::move(node)), result_gradients_(std::move(result_gradients)) {}

  const Node& node() const { return *node_; }
  int num_inputs() const { return static_cast<int>(node_->inputs().size()); }
  const Value& Input(int i) const { return node_->inputs()[i]; }
  // The application's own result: reuse it rather than compute it again.
  Value Output(int i = 0) const { return Value(node_, i); }
  // The gradient of output `i`; empty if it is zero.
  const Value& ResultGradient(int i = 0) const { return result_gradients_[i]; }

 private:
  NodePtr node_;
  std::vector<Value> result_gradients_;
};

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRADIENT_FORM_H_
