// Graphs that compute some of their nodes more than once, or keep them in the host's memory.
#ifndef LEMMA_OPTIMIZER_MEMORY_REMATERIALIZED_GRAPH_H_
#define LEMMA_OPTIMIZER_MEMORY_REMATERIALIZED_GRAPH_H_

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma::optimizer {

// A node of the original graph, by position, as it is computed for the first time (number 0) or
// again (from 1 on).
struct Copy {
  int node = -1;
  int number = 0;

  friend bool operator==(const Copy& a, const Copy& b) {
    return a.node == b.node && a.number == b.number;
  }
  friend bool operator<(const Copy& a, const Copy& b) {
    return std::tie(a.node, a.number) < std::tie(b.node, b.number);
  }
};

// Nodes that are computed once more for some of their users. The k-th recomputation of a list makes
// the copies of number k + 1, which read each other.
struct Recomputation {
  std::set<int> nodes;
  // Readers of a node here that read this copy. Where several recomputations name a reader, the
  // last of them counts.
  std::set<std::pair<int, Copy>> late;
  // Operands of nodes here that are read as copies of this number; of those not named, the first.
  std::map<int, int> operands;
  Copy token;  // after which the copies may begin
  // One of the nodes, of one output, that is not computed again: a copy of it is offloaded and
  // brought back (graph/ops/training/offload.cc), that of the number in `operands`. -1: none.
  int fetched = -1;

  bool empty() const { return nodes.empty(); }
};

struct RematerializedGraph {
  Graph graph;
  // Of all nodes but offloads and barriers; of the barriers that bring back, what they bring.
  absl::flat_hash_map<const Node*, Copy> origins;
};

// `graph` with what is computed again behind barriers (graph/barrier.h). `position` and `is_static`
// are of graph.nodes(); what is static needs no barrier. Copies that an empty recomputation would
// have made are taken to be the first ones, so that any may be emptied, and the others mean the
// same. nullopt if a copy would have to wait for itself.
std::optional<RematerializedGraph> WithCopies(const Graph& graph,
                                              const absl::flat_hash_map<const Node*, int>& position,
                                              const std::vector<bool>& is_static,
                                              absl::Span<const Recomputation> list);

// `list` with one more recomputation, joined with those that share a node with it and with those of
// the numbers `also`, if they fetch nothing: they become one, whose copies begin after
// `added.token`, and what was read as one of their copies is read as its.
std::vector<Recomputation> Joined(std::vector<Recomputation> list, const Recomputation& added,
                                  const std::set<int>& also = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_REMATERIALIZED_GRAPH_H_
