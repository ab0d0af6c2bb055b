// Applies rules that move computation from other values into weights (folding). Internal to the
// referee.
#ifndef LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_
#define LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_

#include <vector>

#include "base/deadline.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::referee {

struct Folds {
  Graph graph;  // after all steps
  // The outputs of rules' targets at matches where the target computes something from constants
  // only: matches in the given graph, matches in `graph`, and the match of each step.
  std::vector<Value> formulas;
};

// Applies rules one by one, as long as a rule folds. A rule folds at a match if its target applies
// fewer operators to values that are not constants, and more operators to constants, than its
// source does. Does not evaluate the values that are computed from constants. The result only
// suggests how weights of another graph may have been made, so the rules need not be proved. Ends
// early after 2000 steps, or when the deadline passes. The number of Folds::formulas is limited.
Folds FoldIntoWeights(const Graph& graph, const std::vector<Substitution>& rules,
                      const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_
