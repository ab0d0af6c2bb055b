// Compares a weight of the second graph with a value computed from weights of the first graph.
// Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_WEIGHT_COMPARISON_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_WEIGHT_COMPARISON_H_

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "verifier/referee/evidence/constants.h"

namespace lemma::referee {

// In this header, weights with known elements are constants, too.

// The relation of `after`, a constant of the second graph, to `before`, a value computed from
// constants of the first graph: `after` equals `before`, perhaps up to rounding.
struct WeightRelation {
  Value after, before;
  bool exact = true;     // true: the same numbers; false: within the error of an f32 evaluation
  double ulps = 0;       // the largest distance, in units in the last place of f32
  int64_t elements = 0;  // number of elements
};

// `after`, a constant of the second graph, is near `nearest`, a value computed from constants of
// the first graph. But some elements of `after` are outside, as CompareWeights defines it.
struct UnrelatedWeight {
  Value after, nearest;
  int64_t outside = 0;            // the number of elements that are outside
  std::vector<int64_t> elements;  // the positions of these elements
  // The largest distance of these elements from their exact values. Its unit is the largest of
  // three numbers: half the width of the interval that f32 evaluations give (not narrowed by
  // `most`), half a unit in the last place, and 2^-126.
  double farthest = 0;
  int64_t element = 0;  // the position of the first of these elements
  // This element, and the ends of the interval in which it would count as rounding.
  double value = 0, low = 0, high = 0;
};

struct WeightComparison {
  WeightRelation relation;    // valid if related()
  UnrelatedWeight unrelated;  // valid if bounded && !related()
  bool bounded = true;        // whether each element that differs has a bound (error_bounds.h)
  bool related() const { return bounded && unrelated.outside == 0; }
};

// The largest distance that counts as rounding, relative to the largest magnitude of the exact
// values. Needed because a formula such as (w + 1e10) - 1e10 has an interval that contains every
// weight.
constexpr double kMostRelative = 0x1p-11;

// Compares `x`, the elements of `after`, with `y`, the elements of `before` and their bounds. Both
// must have the same number of elements. An element is outside if it is not in its interval, or if
// it is further from its exact value than `most` times the largest magnitude in `y`. If `y` is
// exact, 0 and -0 differ.
WeightComparison CompareWeights(const Value& after, const std::vector<double>& x,
                                const Value& before, const BoundedTensor& y,
                                double most = kMostRelative);

// One unit in the last place of an f32 of this size.
double UlpOf(double x);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_WEIGHT_COMPARISON_H_
