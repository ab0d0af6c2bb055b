// Rebuilds a graph with some of its values replaced.
#ifndef LEMMA_GRAPH_REBUILD_H_
#define LEMMA_GRAPH_REBUILD_H_

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "graph/graph.h"

namespace lemma {

using ValueMap = absl::flat_hash_map<Value, Value>;

// Replaces every use of a key in `graph` by the key's value. The caller ensures that a key and its
// value have the same type; the process aborts only if the type of an output changes. Replacements
// are not rewritten: keys that occur inside them stay. Names and labels stay; the label of a
// replaced value goes to its replacement. *changed, if given, becomes a map from each value that
// changed to its new value; it contains `replacements`. The time is linear in the size of the
// graph.
Graph ReplaceValues(const Graph& graph, const ValueMap& replacements, ValueMap* changed = nullptr);

// The same, except that replacements are rewritten too: they may depend on keys, and each use of a
// key in them becomes the key's replacement. No replacement may be a key itself. *changed contains
// only the keys and other values whose new values the result depends on. nullopt if a replacement
// would depend on itself.
std::optional<Graph> ReplaceValuesEverywhere(const Graph& graph, const ValueMap& replacements,
                                             ValueMap* changed = nullptr);

}  // namespace lemma

#endif  // LEMMA_GRAPH_REBUILD_H_
