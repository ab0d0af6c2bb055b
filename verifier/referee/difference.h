// Shows that two graphs differ, and where. Internal to the referee.
#ifndef LEMMA_VERIFIER_REFEREE_DIFFERENCE_H_
#define LEMMA_VERIFIER_REFEREE_DIFFERENCE_H_

#include <optional>
#include <vector>

#include "graph/graph.h"
#include "verifier/referee/referee.h"
#include "verifier/referee/values.h"

namespace lemma::referee {

// The largest difference of two tensors of one type, and the largest finite element. NaN differs
// from finite numbers only.
struct TensorDifference {
  double largest = 0, scale = 1;  // infinite if only one of two elements is NaN or infinite
  int64_t element = 0;            // where it is
};
TensorDifference DifferenceOf(const Tensor& before, const Tensor& after);

// Operations that an execution by definition takes, and how many are acceptable.
double WorkOf(const Graph& graph);
constexpr double kMaxWork = 6e9;

// Each output on the sample of this number.
absl::StatusOr<std::vector<OutputComparison>> CompareOutputs(const Graph& before,
                                                             const Graph& after, size_t sample,
                                                             const RefereeOptions& options);

// Differences beyond this many times what rounding explains are not rounding.
constexpr double kFarBeyond = 20;

// The output that differs most on the sample of this number, against what rounding explains.
std::optional<Refutation> WorstOutput(const Graph& before, const Graph& after, size_t sample,
                                      const RefereeOptions& options);

// nullopt unless an output differs far beyond what rounding explains, on a sample that decides or
// on all random ones of some sizes, and the operators' definitions confirm it: on a pair of small
// graphs whose inputs agree, or, if there is none, on the whole graphs.
std::optional<Refutation> FindRefutation(const Graph& before, const Graph& after,
                                         const Sketches& in_before, const Sketches& in_after,
                                         const RefereeOptions& options);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_DIFFERENCE_H_
