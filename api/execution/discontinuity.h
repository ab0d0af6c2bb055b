// Recognizes outputs that differ because rounding moved a value across a discontinuity.
#ifndef LEMMA_API_EXECUTION_DISCONTINUITY_H_
#define LEMMA_API_EXECUTION_DISCONTINUITY_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// If rounding moves values across a discontinuity, one execution may be at most this many times as
// far from the outputs in double as the other.
constexpr double kAsFar = 4;

// Whether the outputs of two executions agree on one of six sets of inputs near `inputs`. In each
// set every float is changed by up to a thousandth of itself.
absl::StatusOr<bool> AgreesNearby(const Graph& graph, Executable* expected, Executable* actual,
                                  absl::Span<const Tensor> inputs);

// Whether a discontinuity explains why two graphs, which should be equal, differ on `inputs` by
// more than rounding explains. It does if they agree in double and one of two conditions is true:
// the executions agree on some inputs near `inputs` (AgreesNearby); or `before` itself is farther
// from the outputs in double than rounding explains, and `after` is at most kAsFar times as far. A
// graph that computes something else disagrees in double. A graph that is unstable where `before`
// is stable disagrees on all inputs. Executes both graphs once by their definitions, and both
// executables up to seven times.
absl::StatusOr<bool> DifferByADiscontinuity(const Graph& before, Executable* run_before,
                                            const Graph& after, Executable* run_after,
                                            absl::Span<const Tensor> inputs, int threads);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_DISCONTINUITY_H_
