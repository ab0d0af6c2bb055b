// Why a rule does not apply at an operator.
//
// A rule's source is taken apart into conditions: an operand comes from that operator, an attribute
// has that value, a variable is a weight, the precondition holds, and so on. What a condition means
// is the matcher's business alone: a rule that asks for fewer of them is matched in its place. At
// an operator conditions are added one by one, operators first, as long as a match remains; the
// first that cannot be added is the answer.
#ifndef LEMMA_REWRITE_MATCHING_WHY_NOT_H_
#define LEMMA_REWRITE_MATCHING_WHY_NOT_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rewrite/matching/match_index.h"
#include "rewrite/matching/rewrite_source.h"
#include "rewrite/matching/why_not_text.h"

namespace lemma {

// What became of a rule at one operator.
struct WhyNot {
  Missing missing = Missing::kNothing;
  int held = 0;                // conditions that hold together there
  bool alone = false;          // nothing else is missing before the rule matches
  std::string reason;          // in the rule's names; equal for alike places. "" if it applies
  int at = -1;                 // position of the node at which it fails
  std::vector<Match> matches;  // if it applies: those that bind the operator, up to 32
};

// Answers for one rule, which must outlive it.
class WhyNotExplainer {
 public:
  explicit WhyNotExplainer(const PreparedRule& rule);
  ~WhyNotExplainer();

  // At the application of the rule's anchor operator at `anchor`. Of alike siblings each is an
  // anchor, though together they are one match.
  WhyNot Explain(const MatchIndex& index, int anchor);

 private:
  struct Weakened;  // the rule with some of its conditions
  using Kept = std::vector<bool>;

  void AddOperators(int node, std::vector<bool>* seen);
  void AddReaders(std::vector<bool>* seen);
  void AddValues();

  // Whether the condition speaks of what the kept ones reach.
  bool IsReached(const RuleCondition& condition, const Weakened& weakened) const;
  bool Keeps(const Kept& kept, const RuleCondition& condition) const;
  void WeakenVars(const Kept& kept, Weakened* weakened) const;
  PatternNode WeakenNode(const Kept& kept, int number, Weakened* weakened) const;
  const Weakened& Weaken(const Kept& kept);
  std::vector<Binding> Matches(const MatchIndex& index, const Kept& kept, int anchor, size_t most);
  Binding InTheWhole(const Weakened& weakened, const Binding& part) const;
  // Of a whole match.
  WhyNot Obstacle(const MatchIndex& index, const Binding& match) const;

  const PreparedRule& rule_;
  std::vector<RuleCondition> conditions_;
  std::map<Kept, std::unique_ptr<Weakened>> weakened_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_WHY_NOT_H_
