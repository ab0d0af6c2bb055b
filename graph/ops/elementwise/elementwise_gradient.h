// Gradients of element-wise operators, derived from their definitions.
#ifndef LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_
#define LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_

#include <functional>
#include <vector>

#include "graph/gradient_form.h"

namespace lemma::ops {

using Gradient = std::function<absl::StatusOr<std::vector<Value>>(GradientForm&)>;

// Of an operator that makes one element of the result from one element of each input (shapes
// broadcast): dx[j…] = sum(i… that read j…) dy[i…] * df/dx. The derivative df/dx is that of the
// definition's own expression. Where max and min are attained by both operands, a constant takes
// it, otherwise the second one.
absl::StatusOr<std::vector<Value>> ElementwiseGradient(GradientForm& f);

// Of an operator with one input, stated where the derived form would be long: dx from x, y and dy.
Gradient StatedGradient(
    std::function<Value(GradientForm& f, const Value& x, const Value& y, const Value& dy)> dx);

// Of an operator whose results do not change with its inputs wherever they have a derivative.
absl::StatusOr<std::vector<Value>> ZeroGradient(GradientForm& f);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_
