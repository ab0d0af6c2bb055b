// Measures how far the two sides of a region differ, and how large a difference rounding explains.
// Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_MEASURE_H_
#define LEMMA_VERIFIER_REFEREE_MEASURE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "verifier/referee/difference.h"
#include "verifier/referee/region.h"

namespace lemma::referee {

struct RegionDifference {
  Graph before_side, after_side;  // the region at the sizes of the sample
  std::vector<Tensor> inputs;     // of both sides
  Tensor before, after;    // both sides' results, computed in double and stored in their types
  TensorDifference found;  // between the results
  // The largest difference that rounding explains: the sum of two numbers (see MeasureRegion). If
  // the second number alone is at least found.largest, the first one is left out.
  double explained = 0;
};

// Executes both sides with options.definition on the values that the graph
// `before` has on options.samples[sample]. In double, only weights and
// constants are rounded numbers. So the difference that rounding explains is
// the sum of two numbers: four times the effect of changing each weight and
// constant by some units in the last place; and 2^-22 of the largest magnitude
// in both results (at least 1). ResourceExhausted if this takes too many
// operations; Unimplemented if values are stored in half precision, which
// execution in double does not round.
absl::StatusOr<RegionDifference> MeasureRegion(const Graph& before, const Region& region,
                                               size_t sample, const RefereeOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_MEASURE_H_
