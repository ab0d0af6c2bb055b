// Reverse-mode differentiation: gradients as graphs of ordinary operators.
#ifndef LEMMA_GRAPH_GRAD_GRADIENT_H_
#define LEMMA_GRAPH_GRAD_GRADIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Returns for each of `parameters` p the gradient sum(k) J(outputs[k], p)^T * seeds[k], of p's
// type. It is empty if no output depends on p, or only through steps such as rounding. An empty
// seed is zero. A value that depends on no parameter gets no gradient. Linear in the size of the
// graph.
//
// Parameters may be any values, not only inputs and weights; a path ends at the first parameter on
// it. InvalidArgument if a seed has another type than its output or, with the operator's name, if a
// path goes through an operator that is not differentiable.
absl::StatusOr<std::vector<Value>> Gradient(absl::Span<const Value> outputs,
                                            absl::Span<const Value> seeds,
                                            absl::Span<const Value> parameters);

// A graph with the inputs of `graph` and outputs `d_NAME` for the named inputs and weights: the
// gradients of its output number `output`. They are weighted by a further input `d_OUTPUT`; for a
// scalar output there is no such input and the weight is 1. Zeros for a name that the output does
// not depend on; InvalidArgument for a name that the graph lacks.
absl::StatusOr<Graph> GradientGraph(const Graph& graph, int output,
                                    absl::Span<const std::string> names);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_GRADIENT_H_
