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

// `before`, which is computed from constants of the first graph, explains `after`, a constant of
// the second graph. In this header, weights with known elements are constants too (constants.h).
struct WeightRelation {
  Value after, before;
  bool exact = true;     // true: the same numbers; false: within the error of an f32 evaluation
  double ulps = 0;       // the largest distance, in units in the last place of f32
  int64_t elements = 0;  // number of elements
};

// `after`, a constant of the second graph, is near `nearest`, a value computed from constants of
// the first graph, but `after` has elements that no evaluation of `nearest` in f32 gives.
struct UnrelatedWeight {
  Value after, nearest;
  int64_t outside = 0;            // the number of elements outside of their intervals
  std::vector<int64_t> elements;  // the positions of these elements
  // The largest distance of these elements from their exact values, in half-widths of the interval
  // or, where a half-width is less than one rounding, in roundings.
  double farthest = 0;
  int64_t element = 0;                  // the position of the first of these elements
  double value = 0, low = 0, high = 0;  // this element, and the ends of its interval
};

struct RelatedWeights {
  Graph graph;  // the second graph, with `before` in the place of each `after` of `relations`
  std::vector<WeightRelation> relations;
  std::vector<UnrelatedWeight> unrelated;
};

// Replaces constants of `after` by values that are computed from constants of `before`. These
// values are taken from `before`, from the graph of its `folds`, and from the formulas of the folds
// (fold_rules.h). A constant is replaced by
//   * a constant with the same elements, possibly in another shape or transposed; or
//   * a computed value, such as a constant times a number of `before`, if each element lies in the
//     interval of the results that an evaluation of the value in f32 can have, whatever the order
//     of its sums (error_bounds.h).
// A constant of one element is replaced only if `numbers` is set: it may be near many others by
// chance, and a proof may need the number itself. Ends early when the deadline passes; the
// remaining constants are then not replaced.
RelatedWeights RelateWeights(const Graph& before, const Folds& folds, const Graph& after,
                             bool numbers, const Deadline& deadline);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_RELATE_WEIGHTS_H_
