// Gradients of element-wise operators, derived from their definitions.
#ifndef LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_
#define LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_

#include <functional>
#include <vector>

#include "graph/gradient_builder.h"

namespace lemma::ops {

// The type of OpDef::gradient.
using Gradient = std::function<absl::StatusOr<std::vector<Value>>(GradientBuilder&)>;

// The gradient of an operator y[i…] = f(…) that computes each element from one element of each
// input (shapes broadcast): dx[j…] is the sum of dy[i…] * df/dx over all i… for which y[i…] reads
// x[j…]. The function differentiates the expression in the definition. Where both operands of max
// or min are equal, the gradient goes to a constant operand if there is one, otherwise to the
// second operand.
absl::StatusOr<std::vector<Value>> ElementwiseGradient(GradientBuilder& f);

// The gradient of an operator y = f(x) by a given formula: dx(f, x, y, dy) returns the gradient for
// x. For operators whose derived gradient would be long.
Gradient StatedGradient(
    std::function<Value(GradientBuilder& f, const Value& x, const Value& y, const Value& dy)> dx);

// The gradient (zero) of an operator such as floor, whose derivative is 0 wherever it exists.
absl::StatusOr<std::vector<Value>> ZeroGradient(GradientBuilder& f);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_ELEMENTWISE_ELEMENTWISE_GRADIENT_H_
