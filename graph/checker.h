// Checks a graph's invariants from scratch. Between two phases of a pipeline: what comes out of a
// search, an import or a pass is well-formed, or the phase has a bug.
#ifndef LEMMA_GRAPH_CHECKER_H_
#define LEMMA_GRAPH_CHECKER_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma {

// Internal, naming the node and what is wrong, unless
//   * operands come before their users, and every node is there once;
//   * attributes are complete, and the output types are those inferred from operands and
//   attributes;
//   * inputs() are the inputs, in order, and the only ones;
//   * payloads have their node's type;
//   * outputs belong to nodes of the graph, and names of inputs and of outputs are unique.
absl::Status CheckGraph(const Graph& graph);

// The same, and both graphs have the same inputs and outputs: names, order and types.
absl::Status CheckSameInterface(const Graph& before, const Graph& after);

}  // namespace lemma

#endif  // LEMMA_GRAPH_CHECKER_H_
