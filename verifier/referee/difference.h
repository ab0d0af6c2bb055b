// Executes two graphs to show that they differ, and where. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_DIFFERENCE_H_
#define LEMMA_VERIFIER_REFEREE_DIFFERENCE_H_

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "verifier/referee/referee.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// How far two tensors of the same type are apart. NaN counts as different from finite numbers, but
// not from NaN or infinities.
struct TensorDifference {
  // The largest difference of two elements at the same position. Infinite if one element is finite
  // and the other is not, or if they are infinities of different signs.
  double largest = 0;
  double scale = 1;     // the largest magnitude of the finite elements of the two, at least 1
  int64_t element = 0;  // the row-major position of the largest difference
};
TensorDifference DifferenceOf(const Tensor& before, const Tensor& after);

// The number of operations of one execution of the graph by definition; infinite if it is not
// known.
double WorkOf(const Graph& graph);
// FindRefutation and MeasureRegion (measure.h) execute two graphs by definition only if these have
// at most this many operations together.
constexpr double kMaxWork = 6e9;

// Executes both graphs with options.run on options.samples[sample] and compares their outputs, in
// order. Errors are those of options.run, or of a graph that is not well-formed at the sizes of the
// sample.
absl::StatusOr<std::vector<OutputComparison>> CompareOutputs(const Graph& before,
                                                             const Graph& after, size_t sample,
                                                             const RefereeOptions& options);

// A difference of more than kFarBeyond times what rounding explains does not count as rounding.
constexpr double kFarBeyond = 20;

// The output that differs most on options.samples[sample], relative to what rounding explains. If
// all outputs are equal, an output with the difference 0. nullopt if the graphs cannot be executed
// or have no outputs.
std::optional<Refutation> WorstOutput(const Graph& before, const Graph& after, size_t sample,
                                      const RefereeOptions& options);

// The number of operators in both graphs of the pair.
int64_t OperatorsIn(const DifferentPair& pair);
// A pair of at most this many operators is small: nothing smaller is looked for.
constexpr int64_t kSmallPair = 8;

// Finds an output that differs by more than kFarBeyond times what rounding
// explains, on all samples that have the same sizes and the same
// Sample::decides. Sets Refutation::pair to a pair of small graphs that differ
// on values on which the whole graphs agree, if there is one. A pair whose
// results have the same name but different types is taken instead if it is
// smaller. The operators' definitions must confirm the difference: on the whole
// graphs if these have at most kMaxWork operations, otherwise on the pair.
// nullopt if no difference is found and confirmed.
std::optional<Refutation> FindRefutation(const Graph& before, const Graph& after,
                                         const Sketches& in_before, const Sketches& in_after,
                                         const RefereeOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_DIFFERENCE_H_
