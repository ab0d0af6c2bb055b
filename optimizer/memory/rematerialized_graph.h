// Rematerialized graphs: they compute some nodes more than once, or keep values in host memory.
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

// One computation of a node of the original graph, given by position: the first one (number 0) or a
// recomputation (numbers from 1).
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

// Nodes that are computed once more for some of their users. The k-th recomputation of a list (from
// 0) makes the copies of number k + 1, which read each other.
struct Recomputation {
  std::set<int> nodes;
  // Pairs of a node and a reader that reads this copy of it. If several recomputations name the
  // same pair, the last one counts.
  std::set<std::pair<int, Copy>> late;
  // The number of the copy to read, by operand of `nodes`; for other operands, the first copy.
  std::map<int, int> operands;
  Copy token;  // the copies may begin after this one
  // One of `nodes`, with one output, that is not recomputed: the copy of it with the number in
  // `operands` is offloaded and fetched back (graph/ops/training/offload.cc). -1: none.
  int fetched = -1;

  bool empty() const { return nodes.empty(); }
};

struct RematerializedGraph {
  Graph graph;
  // By node: the computation that it is. Offloads and barriers have no entry, except a barrier that
  // fetches a value: it counts as the copy of the node `fetched`.
  absl::flat_hash_map<const Node*, Copy> origins;
};

// `graph` with the recomputations of `list` behind barriers (graph/barrier.h). `position` and
// `is_static` refer to graph.nodes(); static nodes need no barrier. References to copies of an
// empty recomputation read the first copy, so one recomputation can be emptied without changing the
// others. nullopt if a copy would have to wait for itself.
std::optional<RematerializedGraph> WithCopies(const Graph& graph,
                                              const absl::flat_hash_map<const Node*, int>& position,
                                              const std::vector<bool>& is_static,
                                              absl::Span<const Recomputation> list);

// Adds `added` to `list`. It is merged with each recomputation that fetches nothing and either
// shares a node with it or has its number in `also`. The merged copies begin after `added.token`;
// readers of a copy of a merged recomputation read the new copy.
std::vector<Recomputation> Joined(std::vector<Recomputation> list, const Recomputation& added,
                                  const std::set<int>& also = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_REMATERIALIZED_GRAPH_H_
