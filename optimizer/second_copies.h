// Graphs that compute some of their nodes twice.
#ifndef LEMMA_OPTIMIZER_SECOND_COPIES_H_
#define LEMMA_OPTIMIZER_SECOND_COPIES_H_

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Nodes of a graph, by position, that are computed a second time for some of their users.
struct CopiedNodes {
  std::set<int> nodes;
  std::set<std::pair<int, int>> late;  // of a node here and one of its users: reads the second copy
  int token = -1;                      // the node after which the second copies may begin
  int token_time = 0;  // when that is computed: of those joined, the earliest counts
};

// Which node of the original graph another one is a copy of, and whether it is the second.
using CopyOf = std::pair<int, bool>;

struct CopiedGraph {
  Graph graph;
  absl::flat_hash_map<const Node*, CopyOf> origins;  // of all nodes but barriers
};

// `graph` with second copies behind barriers (graph/barrier.h). Units that share a node are joined:
// it is copied once. `position` and `is_static` are of graph.nodes(); what is static needs no
// barrier. nullopt if a second copy would have to wait for itself.
std::optional<CopiedGraph> WithSecondCopies(const Graph& graph,
                                            const absl::flat_hash_map<const Node*, int>& position,
                                            const std::vector<bool>& is_static,
                                            absl::Span<const CopiedNodes> units);

}  // namespace lemma

#endif  // LEMMA_OPTIMIZER_SECOND_COPIES_H_
