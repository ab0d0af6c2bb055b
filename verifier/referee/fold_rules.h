// Moves computation into weights by rules. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_
#define LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_

#include <vector>

#include "base/deadline.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::referee {

struct Folds {
  Graph graph;  // after all steps
  // The values that matching rules would compute from constants, beside other values: outputs of
  // their targets in the given graph, in `graph`, and in the graphs of the steps between these.
  std::vector<Value> formulas;
};

// Applies rules as long as one folds: where it matches, its target applies fewer operators to
// values that are not constants, and more to constants, than its source. Nothing that is computed
// from constants is evaluated. The result only suggests how weights of another graph may have been
// made, so nobody has to trust the rules.
Folds FoldIntoWeights(const Graph& graph, const std::vector<Substitution>& rules,
                      const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_
