// What matching asks of a graph, whatever holds it.
#ifndef LEMMA_REWRITE_MATCHING_MATCH_VIEW_H_
#define LEMMA_REWRITE_MATCHING_MATCH_VIEW_H_

#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// An output of the node that a view has under a number.
struct ValueRef {
  int node = -1;
  int output = 0;
  friend bool operator==(const ValueRef& a, const ValueRef& b) {
    return a.node == b.node && a.output == b.output;
  }
  friend bool operator!=(const ValueRef& a, const ValueRef& b) { return !(a == b); }
};

// Nodes by number. MatchIndex (rewrite/matching/match_index.h) shows a Graph, EditGraph
// (rewrite/matching/edit_graph.h) one that changes, EGraph (rewrite/egraph/egraph.h) many at once.
class MatchView {
 public:
  virtual ~MatchView() = default;

  // Kind, operator, attributes, types and payload of the node. Its operands are not to be asked
  // for: those are Operands().
  virtual const Node& Head(int node) const = 0;
  virtual absl::Span<const ValueRef> Operands(int node) const = 0;

  // Where values are known to be equal, one stands for all: Operands() gives it, Users() takes it.
  // Here each stands for itself.
  virtual ValueRef Canonical(ValueRef value) const { return value; }
  // The values that `value`, canonical, stands for.
  virtual absl::Span<const ValueRef> EqualTo(const ValueRef& value) const { return {&value, 1}; }

  // An operand of the node `position`. Ordered by position, then slot.
  struct Use {
    int position = 0;
    int slot = 0;
  };
  virtual absl::Span<const Use> Users(ValueRef value) const = 0;

  // Depends on no input of the graph, and on no weight or constant that is known to hold an
  // infinity or NaN: what a rule's weight may be bound to.
  virtual bool IsStatic(int node) const = 0;
  // The same, and depends on no weight whose values are unknown.
  virtual bool IsKnown(int node) const = 0;

  // Whether one of `values` is computed from an output of one of `roots`.
  virtual bool Depends(absl::Span<const ValueRef> values, absl::Span<const int> roots) const = 0;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_VIEW_H_
