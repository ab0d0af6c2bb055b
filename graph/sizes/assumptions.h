// The assumptions of a graph about its symbolic dimensions.
#ifndef LEMMA_GRAPH_SIZES_ASSUMPTIONS_H_
#define LEMMA_GRAPH_SIZES_ASSUMPTIONS_H_

#include <vector>

#include "graph/expr/index_expr.h"
#include "graph/graph.h"

namespace lemma {

// The requirements of the graph's operators that are not known to hold at all sizes in the ranges
// of the symbolic dimensions, such as the end of a slice being at most the size of the dimension.
// Operators are applied to symbolic sizes under such assumptions (InferTypes); the graph cannot be
// executed at sizes that do not meet them. Each once.
std::vector<Guard> AssumptionsOf(const Graph& graph);

}  // namespace lemma

#endif  // LEMMA_GRAPH_SIZES_ASSUMPTIONS_H_
