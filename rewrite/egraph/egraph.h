// An e-graph represents many equal graphs at once: it has one set of nodes, and classes of values
// that are known to be equal.
//
// Applying a rule removes nothing: it adds the target's nodes and merges the classes of source and
// target outputs. So no rewrite prevents another. optimizer/extraction/extraction.h picks the
// cheapest graph.
//
// Willsey et al., "egg: fast and extensible equality saturation", POPL 2021. For rules with several
// outputs: Yang et al., "Equality saturation for tensor graph superoptimization", MLSys 2021.
#ifndef LEMMA_REWRITE_EGRAPH_EGRAPH_H_
#define LEMMA_REWRITE_EGRAPH_EGRAPH_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/match_set.h"
#include "rewrite/matching/match_view.h"

namespace lemma {

// A match that was applied.
struct AppliedMatch {
  MatchedEditPtr matched;
  std::vector<int> made;  // by node of the edit: number of the e-graph's node that stands for it
};

// The view shows the state after the last Rebuild(). A class is a set of equal values; Canonical()
// returns the representative of a value's class. In an e-graph, a value may be computed from
// itself: only an extracted graph must be free of cycles.
class EGraph : public MatchView {
 public:
  // `may_fold`: as in EditGraphOptions (rewrite/matching/edit_graph.h).
  EGraph(const Graph& graph, std::function<bool(const Node&)> may_fold);

  // Nodes are numbered from 0 to num_nodes() - 1; nodes that were merged into others keep their
  // numbers. The num_originals() nodes of the original graph come first, in the order of its
  // nodes().
  int num_nodes() const { return static_cast<int>(slots_.size()); }
  int num_originals() const { return num_originals_; }
  int num_live() const { return num_live_; }  // number of nodes for which IsLive is true
  // Whether the node was not merged into an equal one.
  bool IsLive(int node) const { return slots_[node].merged_into < 0; }
  // The live node that `node` was merged into, or itself.
  int LiveNode(int node) const;
  const NodePtr& HeadPtr(int node) const { return slots_[node].head; }
  // By position in graph.nodes(): the equal live node; -1 if there is none.
  std::vector<int> NodesOf(const Graph& graph) const;
  // The canonical values of the original graph's outputs.
  std::vector<ValueRef> outputs() const;
  // The number of the value's class: at least 0 and below num_values(). Not every number is used.
  int ClassOf(ValueRef v) const { return Root(NumberOf(v)); }
  int num_values() const { return static_cast<int>(parent_.size()); }
  // The canonical value of the class with that number.
  ValueRef ValueOf(int number) const { return classes_[number].values.front(); }

  const Node& Head(int node) const override { return *slots_[node].head; }
  absl::Span<const ValueRef> Operands(int node) const override { return slots_[node].operands; }
  ValueRef Canonical(ValueRef value) const override { return class_(value).values.front(); }
  // The values of the class that are outputs of live nodes.
  absl::Span<const ValueRef> EqualTo(const ValueRef& value) const override {
    return class_(value).values;
  }
  absl::Span<const Use> Users(ValueRef value) const override { return class_(value).uses; }
  bool IsStatic(int node) const override { return slots_[node].flags >= Flags::kStatic; }
  bool IsKnown(int node) const override { return slots_[node].flags >= Flags::kKnown; }
  // Whether the node and everything that it is computed from can be folded
  // (EditGraphOptions::may_fold). A leaf with a finite payload can be folded, unless `may_fold` is
  // empty.
  bool IsFolded(int node) const { return slots_[node].flags == Flags::kFolded; }
  // Always false, so that no match is Matcher::Tangled: cycles are allowed here.
  bool Depends(absl::Span<const ValueRef>, absl::Span<const int>) const override { return false; }

  // Adds the nodes and equalities of a match in this view. Returns false, without any change, if
  // all of them are known already. Sets *made to AppliedMatch::made in both cases. After one or
  // more calls, Rebuild() must be called before the view is read.
  bool Apply(MatchedEditPtr matched, std::vector<int>* made = nullptr);
  // Merges nodes whose operands became equal. Afterwards no two live nodes are equal.
  void Rebuild();

  // The matches for which Apply returned true, in order.
  const std::vector<AppliedMatch>& applied_matches() const { return applied_matches_; }
  // The index in applied_matches() of the match that added the node; -1 for the original
  // graph's nodes.
  int Creator(int node) const { return slots_[node].creator; }

 private:
  // Levels; each implies the ones before it. kStatic, kKnown: as MatchView::IsStatic and IsKnown.
  // kFolded: as IsFolded.
  enum class Flags { kNone, kStatic, kKnown, kFolded };
  struct Slot {
    NodePtr head;
    absl::InlinedVector<ValueRef, 4> operands;  // canonical
    uint64_t content = 0;
    int first_value = 0;  // number of the first output
    int creator = -1;
    int merged_into = -1;
    Flags flags = Flags::kNone;
  };
  struct Class {
    absl::InlinedVector<ValueRef, 2> values;  // the canonical one first
    std::vector<Use> uses;
  };

  int NumberOf(ValueRef v) const { return slots_[v.node].first_value + v.output; }
  int Root(int value) const;
  const Class& class_(ValueRef v) const { return classes_[Root(NumberOf(v))]; }
  Class& class_(ValueRef v) { return classes_[Root(NumberOf(v))]; }

  int Add(const NodePtr& head, absl::Span<const ValueRef> operands, int creator);
  bool Unite(ValueRef a, ValueRef b);
  int FindEqual(const Node& head, uint64_t content, absl::Span<const ValueRef> operands) const;
  uint64_t KeyOf(uint64_t content, absl::Span<const ValueRef> operands) const;
  bool MergeEqualNodes();
  void SetFlags();
  void SetClasses();

  const std::function<bool(const Node&)> may_fold_;
  std::vector<Slot> slots_;
  std::vector<int> parent_;     // by value number, towards the root of its class
  std::vector<Class> classes_;  // by root
  std::vector<ValueRef> outputs_;
  absl::flat_hash_map<uint64_t, absl::InlinedVector<int, 1>> by_key_;
  std::vector<AppliedMatch> applied_matches_;
  int num_originals_ = 0, num_live_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_EGRAPH_EGRAPH_H_
