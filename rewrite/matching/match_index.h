// Indexes a graph for matching: the users of each value, the applications of each operator.
#ifndef LEMMA_REWRITE_MATCHING_MATCH_INDEX_H_
#define LEMMA_REWRITE_MATCHING_MATCH_INDEX_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/matching/match_view.h"

namespace lemma {

// Built once per graph, in time linear in its size. The graph must outlive the index.
class MatchIndex : public MatchView {
 public:
  explicit MatchIndex(const Graph& graph);

  const Graph& graph() const { return graph_; }
  const NodePtr& node(int position) const { return graph_.nodes()[position]; }
  int num_nodes() const { return static_cast<int>(graph_.nodes().size()); }

  // The node's position in graph().nodes(); -1 if it is not in the graph.
  int PositionOf(const Node& node) const;

  // Nodes are numbered by position.
  const Node& Head(int position) const override { return *node(position); }
  absl::Span<const ValueRef> Operands(int position) const override;
  absl::Span<const Use> Users(ValueRef value) const override;
  bool IsStatic(int position) const override { return is_static_[position]; }
  bool IsKnown(int position) const override { return is_known_[position]; }
  bool Depends(absl::Span<const ValueRef> values, absl::Span<const int> roots) const override;

  // Positions of the applications of `op`, ascending.
  absl::Span<const int> ApplicationsOf(const OpDef& op) const;

 private:
  int ValueId(ValueRef value) const { return first_value_[value.node] + value.output; }

  const Graph& graph_;
  absl::flat_hash_map<const Node*, int> positions_;
  std::vector<int> first_value_;    // by position: number of the node's first output
  std::vector<int> operand_begin_;  // by position, and one entry for the end
  std::vector<ValueRef> operands_;
  std::vector<int> use_begin_;  // by value number, and one entry for the end
  std::vector<Use> uses_;
  absl::flat_hash_map<const OpDef*, std::vector<int>> applications_;
  std::vector<bool> is_static_, is_known_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_INDEX_H_
