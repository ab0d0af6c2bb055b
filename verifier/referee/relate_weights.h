// Explains the weights of a graph by those of another one. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_
#define LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "graph/graph.h"
#include "verifier/referee/fold_rules.h"

namespace lemma::referee {

// `after`, a constant of one graph, is `before`, which is computed from weights of the other graph.
struct WeightRelation {
  Value after, before;
  bool exact = true;  // the same numbers; else within the error of an f32 evaluation
  double ulps = 0;    // the largest distance, in units in the last place of f32
  int64_t elements = 0;
};

// A constant that is near one of the other graph, but has an element that no f32 evaluation gives.
struct UnrelatedWeight {
  Value after, nearest;
  int64_t outside = 0;            // elements outside of their intervals
  std::vector<int64_t> elements;  // these
  // The largest distance of them from the exact value, in half-widths of the interval or, where
  // that is less than one rounding, in roundings.
  double farthest = 0;
  int64_t element = 0;  // the first of them, and its interval
  double value = 0, low = 0, high = 0;
};

struct RelatedWeights {
  Graph graph;  // with `before` in the place of each `after`
  std::vector<WeightRelation> relations;
  std::vector<UnrelatedWeight> unrelated;
};

// Replaces constants of `after` by values that are computed from constants of `before`, also by
// those of its folds (`folds`), and by the constants in their formulas. A constant is replaced by
//   * a constant with the same elements, possibly in another shape or transposed; or
//   * a computed value, such as a multiple by a number of `before`, if each element lies in the
//     interval that the value's f32 evaluation can give in any order of its sums (error_bounds.h).
// Single numbers are replaced only if `numbers` is set: they may be near many others by chance, and
// a proof may need the number itself.
RelatedWeights RelateWeights(const Graph& before, const Folds& folds, const Graph& after,
                             bool numbers, const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_
