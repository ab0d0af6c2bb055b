// What matching asks of a graph: who uses a value, where an operator occurs.
#ifndef LEMMA_REWRITE_MATCH_INDEX_H_
#define LEMMA_REWRITE_MATCH_INDEX_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// Built once for each graph, in time linear in its size. Keeps a reference to the graph.
class MatchIndex {
 public:
  explicit MatchIndex(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const NodePtr& node(int position) const { return graph_.nodes()[position]; }
  int num_nodes() const { return static_cast<int>(graph_.nodes().size()); }

  // Where the node stands in graph().nodes(); -1 if it is not in the graph.
  int PositionOf(const Node& node) const;

  // An operand of the node at `position`. Ordered by position, then slot.
  struct Use {
    int position = 0;
    int slot = 0;
  };
  absl::Span<const Use> UsesOf(const Value& value) const;

  // Positions of the applications of `op`, ascending.
  absl::Span<const int> ApplicationsOf(const OpDef& op) const;

  // Depends on no input of the graph.
  bool IsStatic(int position) const { return is_static_[position]; }
  // The same, and depends on no weight whose values are unknown.
  bool IsKnown(int position) const { return is_known_[position]; }

 private:
  int ValueId(const Value& value) const;

  const Graph& graph_;
  absl::flat_hash_map<const Node*, int> positions_;
  std::vector<int> first_value_;  // by position: number of the node's first output
  std::vector<int> use_begin_;    // by value number, and one more
  std::vector<Use> uses_;
  absl::flat_hash_map<const OpDef*, std::vector<int>> applications_;
  std::vector<bool> is_static_, is_known_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCH_INDEX_H_
