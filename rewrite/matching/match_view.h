// The interface through which matching reads a graph, independent of how the graph is stored.
#ifndef LEMMA_REWRITE_MATCHING_MATCH_VIEW_H_
#define LEMMA_REWRITE_MATCHING_MATCH_VIEW_H_

#include "absl/types/span.h"
#include "graph/graph.h"

namespace lemma {

// A value in a view: output `output` of the node with number `node`.
struct ValueRef {
  int node = -1;  // less than 0: no value, except in an Edit (rewrite/matching/edit_graph.h)
  int output = 0;
  friend bool operator==(const ValueRef& a, const ValueRef& b) {
    return a.node == b.node && a.output == b.output;
  }
  friend bool operator!=(const ValueRef& a, const ValueRef& b) { return !(a == b); }
};

// A graph whose nodes have numbers. MatchIndex (rewrite/matching/match_index.h) is a view of a
// Graph, EditGraph (rewrite/matching/edit_graph.h) of a graph that changes, and EGraph
// (rewrite/egraph/egraph.h) of many graphs at once.
class MatchView {
 public:
  virtual ~MatchView() = default;

  // Kind, operator, attributes, types and payload of the node. Do not use its operands: call
  // Operands().
  virtual const Node& Head(int node) const = 0;
  virtual absl::Span<const ValueRef> Operands(int node) const = 0;

  // The representative of the values known to equal `value`. Operands() returns representatives,
  // and Users() takes a representative. By default each value represents itself.
  virtual ValueRef Canonical(ValueRef value) const { return value; }
  // The values that `value`, a representative, stands for.
  virtual absl::Span<const ValueRef> EqualTo(const ValueRef& value) const { return {&value, 1}; }

  // A use of a value: as operand number `slot` of node number `position`.
  struct Use {
    int position = 0;
    int slot = 0;
  };
  // The uses of a value, ordered by position, then by slot.
  virtual absl::Span<const Use> Users(ValueRef value) const = 0;

  // Whether the node depends on no input of the graph, on no symbolic size, and on no weight or
  // constant known to hold an infinity or NaN. A variable with the role weight may be bound to the
  // outputs of such a node only.
  virtual bool IsStatic(int node) const = 0;
  // Whether IsStatic holds and the node depends on no weight whose values are unknown.
  virtual bool IsKnown(int node) const = 0;

  // Whether one of `values` is an output of one of the nodes `roots`, or is computed from one. In
  // an EGraph always false, because cycles are allowed there.
  virtual bool Depends(absl::Span<const ValueRef> values, absl::Span<const int> roots) const = 0;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_VIEW_H_
