// Recognizes outputs that differ because rounding moved a value across a discontinuity.
#ifndef LEMMA_API_EXECUTION_DISCONTINUITY_H_
#define LEMMA_API_EXECUTION_DISCONTINUITY_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// "In double" means here: by the definitions, with values between operators in double. If rounding
// moved a value across a discontinuity, an execution may be at most this many times as far from the
// outputs in double as the execution with which it is compared.
constexpr double kAsFar = 4;

// Whether the outputs of two executions agree on at least one of six sets of inputs near `inputs`.
// In each set every float is changed by up to a thousandth of itself. `expected` must execute
// `graph`; `actual` executes `graph` or a graph that should equal it.
absl::StatusOr<bool> AgreesNearby(const Graph& graph, Executable* expected, Executable* actual,
                                  absl::Span<const Tensor> inputs);

// Whether a discontinuity explains why two graphs, which should be equal, differ on `inputs` by
// more than rounding explains. It does if both graphs agree in double and one of two conditions is
// true: the executions agree on some inputs near `inputs` (AgreesNearby); or the outputs of
// `run_before` are farther from the outputs in double than rounding explains, and the outputs of
// `run_after` are at most kAsFar times as far. Thus two kinds of wrong graphs are recognized: a
// graph that computes something else disagrees in double, and a graph that is unstable where
// `before` is stable disagrees on all nearby inputs. Executes both graphs once by their
// definitions, and both executables up to seven times.
absl::StatusOr<bool> DifferByADiscontinuity(const Graph& before, Executable* run_before,
                                            const Graph& after, Executable* run_after,
                                            absl::Span<const Tensor> inputs, int threads);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_DISCONTINUITY_H_
