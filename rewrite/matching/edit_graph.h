// A graph that a search edits in place and restores by undo.
//
// A Graph is immutable, and equal expressions are one node, so replacing a value rebuilds
// everything computed from it. A search tries thousands of replacements for each that it keeps.
// Here nodes refer to operands by number, so a replacement touches only its users. The hash, the
// number of operators and the price are kept up to date. The time to apply or undo an edit grows
// with the size of the edit, not of the graph. ToGraph is in edit_graph_export.cc.
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

// An operator (or a leaf) to add. Operands with node >= 0 are the graph's; {~i, k} is output k of
// the edit's own node number i.
struct EditNode {
  NodePtr head;  // kind, operator, attributes, types; its operands are ignored
  std::vector<ValueRef> operands;
};

// The graph's nodes, numbered by position, and its outputs.
std::vector<EditNode> EditNodesOf(const Graph& graph, std::vector<ValueRef>* outputs);

// Whether two nodes are equal except for their operands, and a hash of the same content.
bool SameContent(const Node& a, const Node& b);
uint64_t ContentHash(const Node& head);

// Adds nodes and replaces uses of values by others of the same type, which must not be computed
// from the replaced ones.
struct Edit {
  std::vector<EditNode> nodes;  // operands before users
  std::vector<std::pair<ValueRef, ValueRef>> replaced;
};

struct EditGraphOptions {
  // Whether an operator is folded if its operands are folded or have a payload: it is computed
  // once, before the graph runs, at no price. Absent: none is.
  std::function<bool(const Node&)> folds;
  // An operator's share of the graph's price; must be below 2^40. Absent: 0.
  std::function<int64_t(const Node&)> price;
};

class EditGraph : public MatchView {
 public:
  EditGraph(const Graph& graph, EditGraphOptions options);
  // The graph of `nodes`. Operands of a node come before it; inputs must be numbered from 0 on.
  EditGraph(absl::Span<const EditNode> nodes, absl::Span<const ValueRef> outputs,
            EditGraphOptions options);

  EditGraph(const EditGraph&) = delete;
  EditGraph& operator=(const EditGraph&) = delete;

  // Numbers of nodes, dead ones included: [0, num_nodes()). Those of the original graph come first,
  // in their order.
  int num_nodes() const { return static_cast<int>(slots_.size()); }
  bool IsLive(int node) const { return slots_[node].live; }
  // Operands before users, in an order close to that of the original graph.
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
  // Whether the node is folded (EditGraphOptions::folds).
  bool IsFolded(int node) const { return slots_[node].is_folded; }
  bool IsOutput(ValueRef value) const { return value_(value).outputs > 0; }

  // With rare exceptions, equal graphs that arose from the same graph by edits, in any order, have
  // equal hashes. Different graphs have equal hashes only by chance.
  uint64_t hash() const { return hash_; }
  int num_ops() const { return num_ops_; }
  int64_t price() const { return price_; }

  // Adds the edit's nodes, or takes existing equal ones; replaces the values; merges users that
  // become equal to other nodes; removes nodes that nothing uses any more. Does nothing if, because
  // of an existing equal node, a new value would depend on the value that it replaces. *made: by
  // node of the edit, its number in this graph.
  void Apply(const Edit& edit, std::vector<int>* made = nullptr);

  // Undoes everything applied since mark() returned `mark`, newest first. The graph is then the
  // same as it was, numbers included.
  size_t mark() const { return log_.size(); }
  void UndoTo(size_t mark);
  // The nodes since `mark` that were added, removed, or got other operands or another IsStatic,
  // IsKnown or IsFolded: each once, ascending.
  std::vector<int> TouchedSince(size_t mark) const;

  // Live nodes in the order of ToGraph().nodes(); from them, ToGraph().StructuralHash(). Neither
  // builds that graph.
  std::vector<int> GraphOrder() const;
  uint64_t StructuralHash(absl::Span<const int> graph_order) const;
  // The label, as in Graph.
  absl::string_view LabelOf(ValueRef value) const;

  // The immutable graph, with the original graph's names of inputs and outputs. Labels are on the
  // values that took the places of the original ones. *nodes: by number, the node in that graph;
  // nullptr if dead.
  Graph ToGraph(std::vector<NodePtr>* nodes = nullptr) const;

  // Nodes added or given other operands so far, undone ones included: a measure of work.
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
    int64_t rank = 0;  // above its operands'
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
