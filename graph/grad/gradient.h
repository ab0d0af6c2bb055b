// Reverse-mode differentiation: gradients as graphs of ordinary operators.
#ifndef LEMMA_GRAPH_GRAD_GRADIENT_H_
#define LEMMA_GRAPH_GRAD_GRADIENT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// For each of `parameters` p the gradient sum(k) J(outputs[k], p)^T * seeds[k], of p's type; empty
// where no output depends on p, or only through steps such as rounding. An empty seed is zero. A
// value that depends on no parameter gets no gradient. Linear in the size of the graph.
//
// Parameters may be any values, inputs and weights or not; a path stops at the first one it meets.
// InvalidArgument, naming the operator, if a path leads through one that is not differentiable.
absl::StatusOr<std::vector<Value>> Gradient(absl::Span<const Value> outputs,
                                            absl::Span<const Value> seeds,
                                            absl::Span<const Value> parameters);

// A graph with the inputs of `graph` and outputs `d_NAME` for the named inputs and weights: the
// gradients of its output number `output`, weighted by a further input `d_OUTPUT`, which is left
// out and 1 where the output is a scalar. Zeros for a name that the output does not depend on.
absl::StatusOr<Graph> GradientGraph(const Graph& graph, int output,
                                    absl::Span<const std::string> names);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_GRADIENT_H_
