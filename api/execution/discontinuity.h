// Recognizes outputs that differ because rounding moved a value across a discontinuity, such as the
// discontinuity of `floor` at an integer.
#ifndef LEMMA_API_EXECUTION_DISCONTINUITY_H_
#define LEMMA_API_EXECUTION_DISCONTINUITY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "runtime/executor.h"

namespace lemma::api {

// The outputs "in double" are the outputs that the definitions give if values between operators are
// not rounded, but stay in double. If rounding moves a value across a discontinuity, two executions
// may both be far from the outputs in double. DifferByADiscontinuity accepts this only if the
// second execution is at most kMostTimesAsFar times as far from them as the first one.
constexpr double kMostTimesAsFar = 4;

// Inputs near `inputs`: every float is changed by up to `by` of itself, at random.
absl::StatusOr<std::vector<Tensor>> NearInputs(absl::Span<const Tensor> inputs, int seed,
                                               double by);

// Whether the outputs of two executions agree on at least one of six sets of inputs near `inputs`.
// In each set every float is changed by up to a thousandth of itself. `expected` must execute
// `graph`; `actual` executes `graph` or a graph that should equal it.
absl::StatusOr<bool> AgreesNearby(const Graph& graph, Executable* expected, Executable* actual,
                                  absl::Span<const Tensor> inputs);

// Whether a discontinuity explains why two graphs, which should be equal, differ on `inputs` by
// more than rounding explains. `run_before` executes `before`, `run_after` executes `after`.
// Returns true if the outputs in double of the two graphs agree, and one of these conditions holds:
//   - the executions agree on some inputs near `inputs` (AgreesNearby);
//   - the outputs of `run_before` differ from the outputs in double by more than rounding explains,
//     and the outputs of `run_after` differ from them at most kMostTimesAsFar times as much. Both
//     differences are in units of the output's tolerance. If an output with the tolerance 0
//     (integers, truth values, small floats) differs, or if a difference is infinite, only the
//     first condition can hold.
// Executes both graphs once by their definitions, on `threads` threads, and both executables up to
// seven times.
absl::StatusOr<bool> DifferByADiscontinuity(const Graph& before, Executable* run_before,
                                            const Graph& after, Executable* run_after,
                                            absl::Span<const Tensor> inputs, int threads);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_DISCONTINUITY_H_
