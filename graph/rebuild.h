// Rebuilds a graph with some of its values replaced.
#ifndef LEMMA_GRAPH_REBUILD_H_
#define LEMMA_GRAPH_REBUILD_H_

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma {

using ValueMap = absl::flat_hash_map<Value, Value>;

// Replaces every use of a key in `graph` by the key's value, which must have the same type (CHECK).
// The replacements themselves are inserted as they are: keys inside them are not replaced. Names
// stay; so do labels of nodes that remain. *changed, if given, receives the new value of each value
// that has another, replaced ones included. Linear in the size of the graph.
Graph ReplaceValues(const Graph& graph, const ValueMap& replacements, ValueMap* changed = nullptr);

}  // namespace lemma

#endif  // LEMMA_GRAPH_REBUILD_H_
