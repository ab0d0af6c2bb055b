// Lists what a graph assumes about its symbolic dimensions.
#ifndef LEMMA_GRAPH_SIZES_ASSUMPTIONS_H_
#define LEMMA_GRAPH_SIZES_ASSUMPTIONS_H_

#include <vector>

#include "graph/expr/index_expr.h"
#include "graph/graph.h"

namespace lemma {

// The requirements of the graph's operators that are not known to be true for all sizes in the
// ranges of the symbolic dimensions: for example, that a slice ends inside its dimension.
// InferTypes assumes them when it infers types from symbolic sizes; the graph cannot be executed at
// sizes that do not meet them. They are in the order of the nodes, without repetition.
std::vector<Guard> AssumptionsOf(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_ASSUMPTIONS_H_
