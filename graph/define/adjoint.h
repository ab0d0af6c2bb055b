// Derives gradients of definitions: the adjoint of a definition with respect to one of its inputs.
#ifndef LEMMA_GRAPH_DEFINE_ADJOINT_H_
#define LEMMA_GRAPH_DEFINE_ADJOINT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::define {

// A definition of the gradient of `forward` with respect to input number
// `input`, which is called x below. The gradient is the sum of J(y, x)^T * dy
// over all outputs y of float types. J(y, x) is the Jacobian matrix of y with
// respect to x, and dy is the gradient of y. The inputs of the result are the
// inputs of `forward`, followed by one dy for each output of a float type, in
// the order of the outputs. Its only output has the type of x. nullopt if x is
// not of a float type, or if the gradient is seen to be 0 everywhere: float
// outputs do not depend on x, or depend on x only through functions such as
// floor.
//
// Each read x[f(i)] in an element y[i] adds a sum to every element p of the
// gradient. The sum is over all i with f(i) = p; its terms are dy[i] times the
// derivative of y[i] with respect to the read. The equations f(i) = p are
// solved for variables with the factor 1 or -1; other equations stay conditions
// of the sum. For example, y[i] = 2 * x[n-1-i] gives 2 * dy[n-1-p]. Functions
// have the derivatives of graph/expr/derivatives.h. If several elements attain
// a maximum or minimum, they share the gradient of the maximum or minimum in
// equal parts.
//
// Unimplemented if a maximum or minimum over elements of x, or of a tensor that
// `forward` makes, is a part of a larger expression.
absl::StatusOr<std::optional<Definition>> Adjoint(const Definition& forward, TensorId input);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_ADJOINT_H_
