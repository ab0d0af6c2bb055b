// Gradients of element-wise operators, derived from their definitions.
#ifndef LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_
#define LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_

#include <functional>
#include <vector>

#include "graph/gradient_builder.h"

namespace lemma::ops {

using Gradient = std::function<absl::StatusOr<std::vector<Value>>(GradientBuilder&)>;

// The gradient of an operator that makes one result element from one element of each input (shapes
// broadcast): dx[j…] = sum(i… that read j…) dy[i…] * df/dx. Differentiates the definition's own
// expression. If both operands attain a max or min, the gradient goes to a constant operand if
// there is one, otherwise to the second operand.
absl::StatusOr<std::vector<Value>> ElementwiseGradient(GradientBuilder& f);

// The gradient of an operator with one input, as a stated formula for dx in x, y and dy. For
// operators whose derived gradient would be long.
Gradient StatedGradient(
    std::function<Value(GradientBuilder& f, const Value& x, const Value& y, const Value& dy)> dx);

// The gradient of an operator whose results are constant in its inputs wherever they have a
// derivative.
absl::StatusOr<std::vector<Value>> ZeroGradient(GradientBuilder& f);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_
