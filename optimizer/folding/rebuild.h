// Rebuilds a graph with some of its values replaced.
#ifndef LEMMA_OPTIMIZER_FOLDING_REBUILD_H_
#define LEMMA_OPTIMIZER_FOLDING_REBUILD_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma::optimizer {

using ValueMap = absl::flat_hash_map<Value, Value>;

// Replaces every use of a key in `graph` by the key's value, which must have the same type (CHECK).
// The replacements themselves are inserted as they are: keys inside them are not replaced. Names
// stay; so do labels of nodes that remain. Linear in the size of the graph.
Graph ReplaceValues(const Graph& graph, const ValueMap& replacements);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_FOLDING_REBUILD_H_
