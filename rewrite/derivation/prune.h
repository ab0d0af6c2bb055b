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
  int typings = 3;
  // Called before each attempt to derive a rule (up to two per rule), with the number of attempts
  // so far. If it returns false, the search ends: rules not yet known to be derivable are kept.
  std::function<bool(int)> go_on = [](int) { return true; };
};

struct Pruned {
  struct LeftOut {
    int rule = 0;
    std::vector<int> from;  // numbers of kept rules, of the derivation at the first typing; empty:
                            // both sides are one graph up to the order of commutative operands
  };
  std::vector<int> kept;  // numbers of rules, ascending
  std::vector<LeftOut> left_out;
};

// Tries to leave out one rule after another. Rules with more operators come first; among these,
// rules with a guard, then rules with fewer variables, then later ones. Each rule left out can be
// derived from the kept rules, within the limits, at all typings tried, with a float contract no
// looser than its own.
Pruned PruneRules(const std::vector<Substitution>& rules, const PruneOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_PRUNE_H_
