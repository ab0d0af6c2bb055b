// Leaving out rules that others give (rewrite/derivation/derive.h), so that few with the same power
// remain.
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
  // Asked before each rule is looked at, which may be twice, with how often that was; false ends
  // it: what is not known to follow is kept.
  std::function<bool(int)> go_on = [](int) { return true; };
};

struct Pruned {
  struct LeftOut {
    int rule = 0;
    std::vector<int> from;  // kept rules, of the derivation at the first typing; empty: both sides
                            // are one graph but for the order of commutative operands
  };
  std::vector<int> kept;  // numbers, ascending
  std::vector<LeftOut> left_out;
};

// Tries to leave out one rule after the other: those with the most operators first, then those with
// guards, with the fewest variables, and the later ones. Each that is left out is derived from what
// is kept in the end, within the limits, at all typings tried, with no looser a float contract than
// it promises.
Pruned PruneRules(const std::vector<Substitution>& rules, const PruneOptions& options = {});

}  // namespace lemma

#endif  // LEMMA_REWRITE_DERIVATION_PRUNE_H_
