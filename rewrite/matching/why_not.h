// Explains why a rule does not apply at an operator.
//
// The rule's source and precondition are split into conditions: an operand comes from a given
// operator, an attribute has a given value, a variable is a weight, a comparison holds, and so on.
// Only the matcher decides whether conditions hold: it searches for matches of a weakened rule,
// which has only some of the conditions. At an operator, conditions are added one by one, operators
// first. A condition is kept if a match remains. The first condition that cannot be kept is the
// answer.
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

// The outcome for a rule at one operator.
struct WhyNot {
  Missing missing = Missing::kNothing;
  int held = 0;                // number of conditions that hold together at the operator
  bool only_obstacle = false;  // all other conditions hold
  std::string reason;          // for people: why the condition fails; "" if the rule applies
  int at = -1;  // position of the node that the reason is about; the anchor if the rule applies
  std::vector<Match> matches;  // if the rule applies: up to 32 matches whose anchor is the operator
};

// Answers for one rule. The rule must outlive the object.
class WhyNotExplainer {
 public:
  explicit WhyNotExplainer(const PreparedRule& rule);
  ~WhyNotExplainer();

  // `anchor`: the position of an application of the rule's anchor operator, which computes the
  // source's first output. Each of several interchangeable siblings (rewrite/matching/match.h)
  // gets its own answer as an anchor, although they form one match.
  WhyNot Explain(const MatchIndex& index, int anchor);

 private:
  struct Weakened;  // the rule with some of its conditions
  using Kept = std::vector<bool>;

  void AddOperators(int node, std::vector<bool>* seen);
  void AddReaders(std::vector<bool>* seen);
  void AddValues();

  // Whether the kept conditions reach the nodes and variables that the condition is about.
  bool IsReached(const RuleCondition& condition, const Weakened& weakened) const;
  bool Keeps(const Kept& kept, const RuleCondition& condition) const;
  void WeakenVars(const Kept& kept, Weakened* weakened) const;
  PatternNode WeakenNode(const Kept& kept, int number, Weakened* weakened) const;
  const Weakened& Weaken(const Kept& kept);
  std::vector<Binding> Matches(const MatchIndex& index, const Kept& kept, int anchor, size_t most);
  Binding InTheWhole(const Weakened& weakened, const Binding& part) const;
  // The obstacle to applying the rule at a match of the whole source; kNothing if there is none.
  WhyNot Obstacle(const MatchIndex& index, const Binding& match) const;

  const PreparedRule& rule_;
  std::vector<RuleCondition> conditions_;
  std::map<Kept, std::unique_ptr<Weakened>> weakened_;
};

}  // namespace lemma

#endif  // LEMMA_REWRITE_MATCHING_WHY_NOT_H_
