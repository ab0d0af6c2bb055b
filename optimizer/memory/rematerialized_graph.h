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

// One computation of a node of the original graph.
struct Copy {
  int node = -1;   // position in nodes() of the original graph
  int number = 0;  // 0: the first computation; from 1 on: recomputations

  friend bool operator==(const Copy& a, const Copy& b) {
    return a.node == b.node && a.number == b.number;
  }
  friend bool operator<(const Copy& a, const Copy& b) {
    return std::tie(a.node, a.number) < std::tie(b.node, b.number);
  }
};

// Nodes that are computed once more for some of their users. Element k of a list of recomputations
// makes the copies with number k + 1; copies with the same number read each other. Nodes are given
// by their positions in the original graph.
struct Recomputation {
  std::set<int> nodes;
  // Pairs of a node of `nodes` and a reader that reads this copy of the node. If several
  // recomputations name the same pair, the last recomputation counts.
  std::set<std::pair<int, Copy>> late;
  // For operands of `nodes` that are not in `nodes`, and for `fetched`: the number of the copy to
  // read. Without an entry, the first copy is read.
  std::map<int, int> operands;
  Copy token;  // the copies begin only after this computation
  // One of `nodes`, with one output, that is not recomputed. Instead, its copy with the number
  // operands[fetched] (without an entry: its first copy) is offloaded and fetched back
  // (graph/ops/training/offload.cc). -1: none.
  int fetched = -1;

  bool empty() const { return nodes.empty(); }
};

struct RematerializedGraph {
  Graph graph;
  // By node of `graph`: the computation that it performs. If several computations became one node,
  // the least of them. Offloads and barriers that WithCopies adds have no entry, except that a
  // barrier that fetches a value counts as the copy of the node `fetched`.
  absl::flat_hash_map<const Node*, Copy> origins;
};

// `graph` with the recomputations of `list` behind barriers (graph/barrier.h). `position` maps each
// node to its position in graph.nodes(). `is_static` says, by position, whether the node depends on
// no input; static nodes need no barrier. A reference to a copy of an empty recomputation stands
// for the first copy, so one recomputation can be emptied without changing the others. nullopt if a
// copy would have to wait for itself.
std::optional<RematerializedGraph> WithCopies(const Graph& graph,
                                              const absl::flat_hash_map<const Node*, int>& position,
                                              const std::vector<bool>& is_static,
                                              absl::Span<const Recomputation> list);

// Returns `list` with `added` as a new last element. Each recomputation of `list` that fetches
// nothing, and that shares a node with `added` or has its number in `also`, is merged into the new
// element and left empty in the list. The merged copies begin after `added.token`. Readers of a
// copy of a merged recomputation read the new copy.
std::vector<Recomputation> Joined(std::vector<Recomputation> list, const Recomputation& added,
                                  const std::set<int>& also = {});

}  // namespace lemma::optimizer

#endif  // LEMMA_OPTIMIZER_MEMORY_REMATERIALIZED_GRAPH_H_
