// Gradients of definitions: the adjoint of a definition with respect to one of its inputs.
#ifndef LEMMA_GRAPH_DEFINE_ADJOINT_H_
#define LEMMA_GRAPH_DEFINE_ADJOINT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::define {

// A definition of the gradient of `forward` with respect to its input `input`: for an input x it is
// the sum over the outputs y of float types of J(y, x)^T * dy, where J(y, x) is the Jacobian matrix
// of y. Its inputs are those of `forward` and then the dy, in the order of the outputs; its only
// output has the type of x. nullopt if no output depends on x by its values.
//
// Every read of x[f(i)] in an element y[i] contributes the sum over all i with f(i) = p of dy[i]
// times the derivative of that element. The equations f(i) = p are solved for variables with the
// factor 1 or -1; others stay conditions of the sum. The derivatives of functions are those of
// graph/expr/derivatives.h, and those of reductions as in docs/operators.md: elements that share a
// maximum share its gradient.
//
// Unimplemented if a maximum or minimum over elements is inside another expression.
absl::StatusOr<std::optional<Definition>> Adjoint(const Definition& forward, TensorId input);

}  // namespace lemma::define

#endif  // LEMMA_GRAPH_DEFINE_ADJOINT_H_
