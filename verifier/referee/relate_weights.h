// Finds out how the weights of a graph were computed from the weights of another graph. Internal to
// the referee.
#ifndef LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_
#define LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_

#include <vector>

#include "base/deadline.h"
#include "graph/graph.h"
#include "verifier/referee/evidence/weight_comparison.h"
#include "verifier/referee/fold_rules.h"

namespace lemma::referee {

// In this header, weights with known elements are constants, too (evidence/constants.h).

struct RelatedWeights {
  // The graph `after` that was passed to RelateWeights, with constants replaced: for each element r
  // of `relations`, r.before takes the place of r.after.
  Graph graph;
  std::vector<WeightRelation> relations;
  // Constants that are not replaced. Each is near a value, or has the name and
  // type of a weight of `before`, but has elements that rounding does not
  // explain.
  std::vector<UnrelatedWeight> unrelated;
};

// Replaces constants of `after` by values that are computed from constants of
// `before`. These values are taken from `before`, from the graph of its
// `folds`, and from the formulas of the folds (fold_rules.h). Replaces only
// constants of float types that are stored, or that only move elements of
// stored constants. A weight is also compared with the weight of `before` that
// has its name and type, whatever their values are. A constant is replaced by
//   * a constant with the same elements, possibly in another shape or transposed; or
//   * a computed value, such as a constant times a number of `before`. Each
//     element of the constant must lie in the interval of the results that
//     evaluations of the value in f32 can have, with sums in any order
//     (evidence/error_bounds.h). Also, no element may be further from its exact
//     value than kMostRelative allows (evidence/weight_comparison.h).
// A constant of one element is replaced only if `numbers` is set: such a number may be near many
// other numbers by chance, and a proof may need the number itself. Ends early when the deadline
// passes; the remaining constants are then not replaced.
RelatedWeights RelateWeights(const Graph& before, const Folds& folds, const Graph& after,
                             bool numbers, const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_
