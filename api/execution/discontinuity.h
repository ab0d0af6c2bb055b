// Outputs that differ because rounding took a value across a jump.
#ifndef LEMMA_API_EXECUTION_DISCONTINUITY_H_
#define LEMMA_API_EXECUTION_DISCONTINUITY_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// How far the output that differs most is off, in what it may be (runtime/tolerance.h).
double Distance(const Graph& graph, absl::Span<const Tensor> actual,
                absl::Span<const Tensor> expected);
// How many times further than another execution one may be from the real numbers beyond a jump.
constexpr double kAsFar = 4;

// Whether the outputs of two executions agree on some inputs near `inputs`: one of six sets, each
// float of which is changed by up to a thousandth of itself.
absl::StatusOr<bool> AgreesNearby(const Graph& graph, Executable* expected, Executable* actual,
                                  absl::Span<const Tensor> inputs);

// For two graphs with the same meaning whose outputs on `inputs` differ by more than rounding
// explains: whether they agree in double, and `after` as executed either agrees with `before` on
// some inputs near these or, where `before` itself is further from the outputs in double than
// rounding explains, is at most four times as far. Then rounding put values on other sides of a
// jump, such as the one of relu's gradient at 0. What computes something else fails in double, what
// is unstable where `before` is not on all inputs. Executes both by definitions, and up to seven
// times each.
absl::StatusOr<bool> DifferByADiscontinuity(const Graph& before, Executable* run_before,
                                            const Graph& after, Executable* run_after,
                                            absl::Span<const Tensor> inputs, int threads);

}  // namespace lemma::api

#endif  // LEMMA_API_EXECUTION_DISCONTINUITY_H_
