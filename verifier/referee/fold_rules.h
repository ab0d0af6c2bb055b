// Moves computation into weights by rules. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_
#define LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_

#include <vector>

#include "base/deadline.h"
#include "graph/graph.h"
#include "rewrite/rules/substitution.h"

namespace lemma::referee {

// Whether the target computes with weights what the source computes with other values: it applies
// fewer operators to those, and some to weights.
bool FoldsIntoWeights(const Substitution& rule);

// Applies such rules as long as one matches. Nothing that is computed from weights is evaluated.
// The result only suggests how weights of another graph may have been made, so nobody has to trust
// the rules.
Graph FoldIntoWeights(const Graph& graph, const std::vector<Substitution>& rules,
                      const Deadline& deadline);

// Values that the other rules would compute from weights: the outputs of their targets, at each of
// their matches.
std::vector<Value> WeightFormulas(const Graph& graph, const std::vector<Substitution>& rules,
                                  const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_FOLD_RULES_H_
