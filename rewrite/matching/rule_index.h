// Indexes rules for matching: finds the rules that may match at a node.
//
// Rules share a discrimination tree (rewrite/matching/discrimination_tree.h), so the time to find
// them at a node depends little on how many rules there are. The tree leaves out only rules that
// cannot match; the matcher decides about the others.
#ifndef LEMMA_REWRITE_MATCHING_RULE_INDEX_H_
#define LEMMA_REWRITE_MATCHING_RULE_INDEX_H_

#include <memory>
#include <vector>

#include "rewrite/matching/discrimination_tree.h"
#include "rewrite/matching/rewrite_source.h"

namespace lemma {

class RuleIndex {
 public:
  // Node `number` of the source of rule number `rule`: where Matcher::ForEachAt may begin.
  struct Start {
    int rule = 0;
    int number = 0;
    friend bool operator==(const Start& a, const Start& b) {
      return a.rule == b.rule && a.number == b.number;
    }
  };

  // The rules must outlive the index.
  explicit RuleIndex(std::vector<const PreparedRule*> rules);

  const std::vector<const PreparedRule*>& rules() const { return rules_; }

  // Sets *starts to the starts from which the matcher may find a match at `node`, sorted by rule,
  // then by number. From other starts there is no match at `node`.
  void StartsAt(const MatchView& view, int node, std::vector<Start>* starts) const;
  // The same for matches whose anchor is `node`: at most one start for each rule.
  void AnchorsAt(const MatchView& view, int node, std::vector<Start>* starts) const;

 private:
  struct Tree {
    DiscriminationTree tree;
    std::vector<Start> starts;  // by pattern of the tree
  };
  static void Add(const PreparedRule& rule, const Start& start, Tree* tree);
  static void FindIn(const Tree& tree, const MatchView& view, int node, std::vector<Start>* starts);

  const std::vector<const PreparedRule*> rules_;
  Tree starts_, anchors_;
};
using RuleIndexPtr = std::shared_ptr<const RuleIndex>;

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_RULE_INDEX_H_
