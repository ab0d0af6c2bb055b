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
// type, where J(y, p) is the Jacobian of y with respect to p. It is empty if no output depends on
// p, or only through integers or steps such as rounding. There is one seed for each output; an
// empty one is zero. Linear in the size of the graph.
//
// Parameters may be any values, not only inputs and weights. Backward from an output, a path ends
// at the first parameter on it. InvalidArgument if a seed has another type than its output, or if a
// path goes through an operator that is not differentiable; the message names it.
absl::StatusOr<std::vector<Value>> Gradient(absl::Span<const Value> outputs,
                                            absl::Span<const Value> seeds,
                                            absl::Span<const Value> parameters);

// A graph with the inputs of `graph` that computes gradients of its output number `output`: one
// output `d_NAME` for each NAME of `names`, which are inputs and weights. If the output is no
// scalar, a last input `d_OUTPUT`, where OUTPUT is its name, gives the seed; for a scalar the seed
// is 1. Zeros for a name that the output does not depend on. InvalidArgument for a name that the
// graph lacks, and as in Gradient().
absl::StatusOr<Graph> GradientGraph(const Graph& graph, int output,
                                    absl::Span<const std::string> names);

}  // namespace lemma

#endif  // LEMMA_GRAPH_GRAD_GRADIENT_H_
