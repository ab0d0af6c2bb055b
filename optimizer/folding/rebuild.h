// Graphs with some values replaced.
#ifndef LEMMA_OPTIMIZER_FOLDING_REBUILD_H_
#define LEMMA_OPTIMIZER_FOLDING_REBUILD_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma::optimizer {

using ValueMap = absl::flat_hash_map<Value, Value>;

// `graph` with every use of a key replaced by the key's value, which has the same type (CHECK) and
// is taken as it is: keys below it are not replaced. Names and, where a node lives on, labels stay.
// Linear in the size of the graph.
Graph ReplaceValues(const Graph& graph, const ValueMap& replacements);

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_FOLDING_REBUILD_H_
