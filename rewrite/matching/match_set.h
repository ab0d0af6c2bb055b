// All matches of some rules in a graph that changes.
#ifndef LEMMA_REWRITE_MATCHING_MATCH_SET_H_
#define LEMMA_REWRITE_MATCHING_MATCH_SET_H_

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma {

// A match and what applying the rule there does.
struct MatchedEdit {
  const PreparedRule* rule = nullptr;
  Binding match;
  Edit edit;
};
using MatchedEditPtr = std::shared_ptr<const MatchedEdit>;

// The edit that makes of the match in `view` the rule's target. FailedPrecondition as in Apply
// (rewrite/matching/apply.h).
absl::StatusOr<Edit> EditOf(const Substitution& rule, const MatchView& view, const Binding& match);

// The match of a form of the rule that its proof covers, with its edit; nullptr if none covers it,
// or the target is not well-formed.
MatchedEditPtr MatchedEditOf(const PreparedRule& rule, const MatchView& view, const Binding& match);

// Keeps up with a graph: after an edit, matches that bind a node that was touched go, and are
// looked for again around the touched nodes only. A match that no form of its rule covers, or whose
// target is not well-formed, is none. Tangled ones are kept, since an edit far away can disentangle
// them: ask IsApplicable before using one.
class MatchSet {
 public:
  // Finds all matches. `rules` and `graph` must outlive it.
  MatchSet(std::vector<const PreparedRule*> rules, const EditGraph* graph);

  // Matches by number, gone ones included: those found at first by anchor and then by rule, later
  // ones in the order in which they arose.
  int size() const { return static_cast<int>(entries_.size()); }
  bool IsAlive(int number) const { return entries_[number].alive; }
  const MatchedEditPtr& matched(int number) const { return entries_[number].matched; }
  bool IsApplicable(const MatchedEdit& matched) const {
    return !matched.rule->matcher.Tangled(*graph_, matched.match);
  }

  // To be called after each edit that is to stay, with the graph's mark before it.
  void Update(size_t graph_mark);
  // mark() and UndoTo as the graph has them.
  size_t mark() const { return log_.size(); }
  void UndoTo(size_t mark);

  // Nodes at which rules were tried so far: a measure of work.
  int64_t work() const { return work_; }

 private:
  struct Entry {
    MatchedEditPtr matched;
    bool alive = true;
  };
  struct Start {
    const PreparedRule* rule = nullptr;
    int number = 0;  // of the source's node
  };
  static constexpr int kAdded = -1;

  void Found(const PreparedRule& rule, const Binding& match);

  const EditGraph* const graph_;
  const std::vector<const PreparedRule*> rules_;
  // By operator.
  absl::flat_hash_map<const OpDef*, std::vector<Start>> anchors_, starts_;
  std::vector<Entry> entries_;
  std::vector<std::vector<int>> by_node_;  // numbers of matches that bind it
  std::vector<int> log_;                   // kAdded, or the number of a match that went
  int64_t work_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_SET_H_
