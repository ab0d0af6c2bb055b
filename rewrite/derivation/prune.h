// Removes rules that can be derived from the others (rewrite/derivation/derive.h), for files of
// rules. `lemma generate` uses another method (generator/derivation/derivation.h).
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
  // Called before each attempt to derive a rule, with the number of earlier calls. There are two
  // passes. The first tries to derive each rule from the rules not left out so far. The second
  // tries again for each rule left out, from the rules that were kept. False in the first pass ends
  // this pass; false in the second pass keeps the rule.
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

// Tries to leave out one rule after another. Rules with more operators, counted on both sides, come
// first. Among rules with equally many operators, rules with a guard come first, then rules with
// fewer variables, then later rules. Each rule left out can be derived from the kept rules, within
// the limits, at all typings tried, with a float contract no looser than its own.
Pruned PruneRules(const std::vector<Substitution>& rules, const PruneOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_PRUNE_H_
