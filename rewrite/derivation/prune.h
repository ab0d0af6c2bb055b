// Removes rules that can be derived from the others (rewrite/derivation/derive.h).
#ifndef LEMMA_REWRITE_DERIVATION_PRUNE_H_
#define LEMMA_REWRITE_DERIVATION_PRUNE_H_

#include <functional>
#include <vector>

#include "rewrite/derivation/derive.h"
#include "rewrite/rules/substitution.h"

namespace lemma {

struct PruneOptions {
  DeriveLimits limits;
  int typings = 3;  // number of typings (rewrite/derivation/typings.h) to derive a rule at
  // Rules are tried in two passes: the second derives each rule that the first left out once more,
  // from the rules that stay. Called before each attempt, with the number of earlier calls. False
  // in the first pass ends this pass; false in the second keeps the rule.
  std::function<bool(int)> go_on = [](int) { return true; };
};

struct Pruned {
  struct LeftOut {
    int rule = 0;
    // Numbers of the kept rules in the derivation at the first typing, one per step. Empty: both
    // sides are one graph, up to the order of commutative operands.
    std::vector<int> from;
  };
  std::vector<int> kept;  // numbers of rules, ascending
  std::vector<LeftOut> left_out;
};

// Tries to leave out one rule after another. Rules with more operators come first. Among rules with
// equally many operators, rules with a guard come first, then rules with fewer variables, then
// later rules. Each rule left out can be derived from the kept rules, within the limits, at all
// typings tried, with a float contract no looser than its own.
Pruned PruneRules(const std::vector<Substitution>& rules, const PruneOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_PRUNE_H_
