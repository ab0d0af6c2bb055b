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
// order; J is the Jacobian. The gradient has p's type. It is empty if no output depends on p, or
// only through integers or steps such as rounding. There is one seed per output; an empty seed is
// zero. Linear in the size of the graph.
//
// Parameters may be any values, not only inputs and weights; a path ends at the first parameter on
// it. InvalidArgument if a seed has another type than its output or, with the operator's name, if a
// path goes through an operator that is not differentiable.
absl::StatusOr<std::vector<Value>> Gradient(absl::Span<const Value> outputs,
                                            absl::Span<const Value> seeds,
                                            absl::Span<const Value> parameters);

// A graph with the inputs of `graph` and an output `d_NAME` for each named input or weight: the
// gradient of output number `output` (from 0, named OUTPUT). Its seed is a further input `d_OUTPUT`
// of the output's type or, for a scalar output, 1. Zeros for a name that the output does
// not depend on; InvalidArgument for a name that the graph lacks.
absl::StatusOr<Graph> GradientGraph(const Graph& graph, int output,
                                    absl::Span<const std::string> names);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_GRADIENT_H_
