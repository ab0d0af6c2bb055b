// Keeps all matches of a set of rules up to date while a graph changes.
#ifndef LEMMA_REWRITE_MATCHING_MATCH_SET_H_
#define LEMMA_REWRITE_MATCHING_MATCH_SET_H_

#include <memory>
#include <vector>

#include "rewrite/matching/edit_graph.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/matching/rule_index.h"

namespace lemma {

// A match, and the edit that applies the rule there.
struct MatchedEdit {
  const PreparedRule* rule = nullptr;
  Binding match;
  Edit edit;
};
using MatchedEditPtr = std::shared_ptr<const MatchedEdit>;

// The edit that replaces the match in `view` by the rule's target. FailedPrecondition as in Apply
// (rewrite/matching/apply.h).
absl::StatusOr<Edit> EditOf(const Substitution& rule, const MatchView& view, const Binding& match);

// The match with its edit. nullptr if the match binds a node of PreparedRule::fixed, if no form of
// the rule's proof covers it, or if EditOf fails.
MatchedEditPtr MatchedEditOf(const PreparedRule& rule, const MatchView& view, const Binding& match);

// All matches of a set of rules in an EditGraph. After an edit, the caller calls Update, which
// drops the matches that bind a touched node and searches again only around touched nodes. The set
// has no matches for which MatchedEditOf returns nullptr. It has Tangled matches (a variable
// depends on an output of the match), since an edit elsewhere can untangle them: check IsApplicable
// before using a match.
class MatchSet {
 public:
  // Finds all matches of the index's rules. The rules and `graph` must outlive the set.
  MatchSet(RuleIndexPtr rules, const EditGraph* graph);

  // Matches have the numbers [0, size()), including dead matches, which were dropped. The initial
  // matches come first, ordered by anchor, then by rule; later matches follow in the order in which
  // they were found.
  int size() const { return static_cast<int>(entries_.size()); }
  bool IsAlive(int number) const { return entries_[number].alive; }
  const MatchedEditPtr& matched(int number) const { return entries_[number].matched; }
  // Whether the match, whose nodes must be live, is not Tangled.
  bool IsApplicable(const MatchedEdit& matched) const {
    return !matched.rule->matcher.Tangled(*graph_, matched.match);
  }

  // Must be called after each edit that stays; `graph_mark` is the graph's mark before the edit.
  void Update(size_t graph_mark);
  // As in EditGraph. When the caller undoes the graph to a mark, it must also undo this set to the
  // mark that the set had at that time.
  size_t mark() const { return log_.size(); }
  void UndoTo(size_t mark);

  // How many nodes were given to the index of rules, plus how many starts (RuleIndex::Start) were
  // tried, so far: a measure of work.
  int64_t work() const { return work_; }

 private:
  struct Entry {
    MatchedEditPtr matched;
    bool alive = true;
  };
  static constexpr int kAdded = -1;

  void Found(const PreparedRule& rule, const Binding& match);

  const EditGraph* const graph_;
  const RuleIndexPtr rules_;
  std::vector<Entry> entries_;
  std::vector<std::vector<int>> by_node_;  // by node: numbers of the matches that bind it
  std::vector<int> log_;                   // kAdded, or the number of a match that was dropped
  int64_t work_ = 0;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_MATCH_SET_H_
