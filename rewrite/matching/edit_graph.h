// A graph that a search edits in place and restores by undo.
//
// A Graph is immutable, and equal expressions are one node, so replacing a value rebuilds
// everything computed from it. A search tries thousands of replacements for each one that it keeps.
// In an EditGraph, nodes refer to operands by number, so a replacement touches only the users of
// the replaced value. The hash, the number of operators and the price are kept up to date. The time
// to apply or undo an edit grows with the size of the edit, not of the graph. ToGraph is in
// edit_graph_export.cc.
#ifndef LEMMA_REWRITE_MATCHING_EDIT_GRAPH_H_
#define LEMMA_REWRITE_MATCHING_EDIT_GRAPH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/matching/match_view.h"

namespace lemma {

// An operator (or a leaf) to add. An operand with node >= 0 is a value of the graph; an operand
// {~i, k} is output k of node number i of the same edit.
struct EditNode {
  NodePtr head;  // kind, operator, attributes, types; its operands are ignored
  std::vector<ValueRef> operands;
};

// The graph's nodes, numbered by position. Appends its outputs to *outputs.
std::vector<EditNode> EditNodesOf(const Graph& graph, std::vector<ValueRef>* outputs);

// Whether two operators are equal except for their operands. A leaf has the same content only as
// itself.
bool SameContent(const Node& a, const Node& b);
// Equal for nodes with the same content.
uint64_t ContentHash(const Node& head);

// A change of a graph: adds nodes and, for each pair, replaces each use of the first value by the
// second value. Both values of a pair have the same type. No second value may be computed from the
// value that it replaces.
struct Edit {
  std::vector<EditNode> nodes;  // operands before users
  std::vector<std::pair<ValueRef, ValueRef>> replaced;
};

struct EditGraphOptions {
  // Whether an operator may be folded. It is then folded if each operand is folded or has a
  // payload. A folded operator is computed once, before the graph runs, and has no price. Empty: no
  // operator is folded.
  std::function<bool(const Node&)> may_fold;
  // An operator's share of the graph's price; must be at most 2^40. Empty: 0.
  std::function<int64_t(const Node&)> price;
};

class EditGraph : public MatchView {
 public:
  EditGraph(const Graph& graph, EditGraphOptions options);
  // The graph of `nodes`, whose operands are given by number and come before their users. The
  // indices of its inputs (Node::input_index) must be 0, 1, ….
  EditGraph(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
            EditGraphOptions options);

  EditGraph(const EditGraph&) = delete;
  EditGraph& operator=(const EditGraph&) = delete;

  // Nodes have the numbers [0, num_nodes()), including dead nodes, which were removed. The nodes of
  // the original graph come first, in their order.
  int num_nodes() const { return static_cast<int>(slots_.size()); }
  bool IsLive(int node) const { return slots_[node].live; }
  // The live nodes, operands before users, in an order close to the original graph's order.
  std::vector<int> LiveNodes() const;
  // `nodes` in the order of LiveNodes().
  std::vector<int> Sorted(std::vector<int> nodes) const;
  const NodePtr& HeadPtr(int node) const { return slots_[node].head; }
  const std::vector<ValueRef>& outputs() const { return outputs_; }

  const Node& Head(int node) const override { return *slots_[node].head; }
  absl::Span<const ValueRef> Operands(int node) const override { return slots_[node].operands; }
  absl::Span<const Use> Users(ValueRef value) const override { return value_(value).uses; }
  bool IsStatic(int node) const override { return slots_[node].is_static; }
  bool IsKnown(int node) const override { return slots_[node].is_known && slots_[node].is_static; }
  bool Depends(absl::Span<const ValueRef> values, absl::Span<const int> roots) const override;
  // Whether the node is folded (EditGraphOptions::may_fold) or is a leaf with a payload.
  bool IsFolded(int node) const { return slots_[node].is_folded; }
  bool IsOutput(ValueRef value) const { return value_(value).outputs > 0; }

  // With rare exceptions, equal graphs that arose from the same graph by edits, in any order, have
  // equal hashes. Different graphs have equal hashes only by chance.
  uint64_t hash() const { return hash_; }
  int num_ops() const { return num_ops_; }
  // The sum of EditGraphOptions::price of the live operators that are not folded.
  int64_t price() const { return price_; }

  // Adds the edit's nodes, or takes existing equal nodes; replaces the values; merges users that
  // become equal to other nodes; removes nodes that nothing uses any more. Replaces nothing if a
  // node of the edit reads a value that is to be replaced, as in replacing an existing relu(x) by
  // relu(relu(x)). Sets *made, if given, to this graph's number of each node of the edit.
  void Apply(const Edit& edit, std::vector<int>* made = nullptr);

  // Undoes everything applied since mark() returned `mark`, newest first. The graph is then the
  // same as it was, numbers included.
  size_t mark() const { return log_.size(); }
  void UndoTo(size_t mark);
  // The nodes that, since `mark`, were added or removed, or got other operands or another value of
  // IsStatic, IsKnown or IsFolded; also the users of nodes for which one of these three changed.
  // Each once, ascending.
  std::vector<int> TouchedSince(size_t mark) const;

  // The live nodes in the order of ToGraph().nodes(). Does not build this graph.
  std::vector<int> GraphOrder() const;
  // ToGraph().StructuralHash(). Does not build this graph. `graph_order` must be GraphOrder().
  uint64_t StructuralHash(absl::Span<const int> graph_order) const;
  // The value's label, as Graph::LabelOf; empty if it has none.
  absl::string_view LabelOf(ValueRef value) const;

  // The immutable graph, with the original graph's names of inputs and outputs (x0, x1, … and y0,
  // y1, … if this graph was made of nodes). A replaced value's label is on the value that took its
  // place. Sets *nodes, if given, to the node of the new graph by number in this graph; nullptr for
  // a dead node.
  Graph ToGraph(std::vector<NodePtr>* nodes = nullptr) const;

  // The number of nodes added or given other operands so far, including undone changes: a measure
  // of work.
  int64_t work() const { return work_; }

 private:
  struct ValueInfo {
    std::vector<Use> uses;
    int outputs = 0;    // how many of the graph's outputs are this value
    uint64_t name = 0;  // names the value in its users' shares of the hash
    const std::string* label = nullptr;
  };
  struct Slot {
    NodePtr head;
    absl::InlinedVector<ValueRef, 4> operands;
    absl::InlinedVector<ValueInfo, 1> values;
    uint64_t content = 0;  // hash of all but the operands
    int64_t price = 0;
    int64_t rank = 0;  // above the ranks of its operands (topological_order.h)
    bool live = false, is_static = false, is_known = false, is_folded = false;
  };
  struct Entry {  // of the log
    enum class Kind { kAdd, kKill, kRewire, kOutput, kSwapNames, kRank };
    Kind kind;
    int node = 0;
    ValueRef from, to;
    int64_t rank = 0;
    bool is_static = false, is_known = false, is_folded = false;
    absl::InlinedVector<ValueRef, 4> operands;
  };

  ValueInfo& value_(ValueRef v) { return slots_[v.node].values[v.output]; }
  const ValueInfo& value_(ValueRef v) const { return slots_[v.node].values[v.output]; }

  int Add(const NodePtr& head, absl::Span<const ValueRef> operands);
  void KillIfUnused(int node);
  bool IsUnused(int node) const;
  void Replace(ValueRef from, ValueRef to, std::vector<int>* merged);
  void Rewire(int node, absl::InlinedVector<ValueRef, 4> operands);
  void SetOutputs(ValueRef from, ValueRef to);
  void SwapNames(ValueRef a, ValueRef b);
  void Raise(int node, int64_t rank);
  void Undo(const Entry& entry);

  // Adds a node to, and removes it from, the derived data: uses, the table of equal nodes, hash,
  // counts, price.
  void Link(int node);
  void Unlink(int node);
  // Returns whether a flag changed.
  bool SetFlags(Slot* slot) const;
  uint64_t KeyOf(uint64_t content, absl::Span<const ValueRef> operands) const;
  uint64_t ShareOf(const Slot& slot) const;
  int FindEqual(const Node& head, uint64_t content, absl::Span<const ValueRef> operands) const;
  void CountOutput(size_t i, int sign);
  std::vector<int> Inputs() const;

  EditGraphOptions options_;
  Graph origin_;  // names and labels; empty if made of nodes
  std::vector<Slot> slots_;
  std::vector<ValueRef> outputs_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<int, 1>> by_key_;  // live nodes
  std::vector<Entry> log_;
  uint64_t hash_ = 0;
  int num_ops_ = 0;
  int64_t price_ = 0;
  int64_t work_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_EDIT_GRAPH_H_
