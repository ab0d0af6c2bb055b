// Checks a graph's invariants from scratch. Tests and fuzzers apply it to the graph that a phase (a
// search, an import or a pass) returns: if the graph is malformed, the phase has a bug.
#ifndef LEMMA_GRAPH_CHECKER_H_
#define LEMMA_GRAPH_CHECKER_H_

#include "absl/status/status.h"
#include "graph/graph.h"

namespace lemma {

// Returns OK if all of this is true, otherwise Internal with the node and the violation:
//   * operands exist and come before their users, and every node occurs once;
//   * attributes are complete, and the output types are those inferred from operands and
//     attributes, except for opaque operators;
//   * each input node is the one at its index in inputs();
//   * each input, weight and constant has one output; payloads have their node's type, and every
//     constant has a payload;
//   * num_ops() is the number of operators;
//   * outputs belong to nodes of the graph;
//   * no two inputs have the same name, and no two outputs have the same name.
absl::Status CheckGraph(const Graph& graph);

// Checks `after` as CheckGraph does. Also checks that its inputs and outputs
// have the names, the order and the types of the inputs and outputs of
// `before`.
absl::Status CheckSameInterface(const Graph& before, const Graph& after);

}  // namespace lemma

#endif  // LEMMA_GRAPH_CHECKER_H_
