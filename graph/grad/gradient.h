// Reverse-mode differentiation: gradients as graphs of ordinary operators.
#ifndef LEMMA_GRAPH_GRAD_GRADIENT_H_
#define LEMMA_GRAPH_GRAD_GRADIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Returns the gradient sum(k) J(outputs[k], p)^T * seeds[k] for each p of `parameters`, in their
// order; J(y, p) is the Jacobian matrix of y with respect to p. The gradient has p's type. It is
// empty, which means zero, if the outputs do not depend on p, or depend on p only through integers
// or step functions such as rounding. seeds[k] is the gradient with respect to outputs[k] from
// which the backward pass starts; an empty seed is zero. The time is linear in the size of the
// graph. Contributions of several users to the gradient of a 16-bit value are added in f32.
//
// Parameters may be any values, not only inputs and weights. A parameter counts as independent of
// the values that it is computed from: gradients go from the outputs back to the parameters, and
// not past them.
// InvalidArgument if a seed and its output have different types, or if a gradient on its way to a
// parameter meets an operator that is not differentiable; the message names the operator.
absl::StatusOr<std::vector<Value>> Gradient(absl::Span<const Value> outputs,
                                            absl::Span<const Value> seeds,
                                            absl::Span<const Value> parameters);

// A graph with the inputs of `graph` and, for each of `names` (inputs or weights), an output
// `d_NAME`: the gradient of output number `output`, counted from 0, with respect to NAME. If this
// output is a scalar, its seed is 1; otherwise the seed is a further input `d_OUTPUT` of the
// output's type, where OUTPUT is the output's name. `d_NAME` is zero if the output does not depend
// on NAME. The graph must have the output. InvalidArgument for a name that the graph lacks, and as
// in Gradient.
absl::StatusOr<Graph> GradientGraph(const Graph& graph, int output,
                                    absl::Span<const std::string> names);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_GRADIENT_H_
