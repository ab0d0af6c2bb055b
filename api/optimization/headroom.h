// Recognizes results that overflow f16 on inputs on which the model does not.
#ifndef LEMMA_API_OPTIMIZATION_HEADROOM_H_
#define LEMMA_API_OPTIMIZATION_HEADROOM_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// Whether `after` gives an infinity or NaN on larger inputs, on which `before` gives none. Rules
// that reassociate hold for finite numbers only: (q·k)/8 overflows where (q/8)·k does not, and the
// largest number of f16 is 65504. The larger inputs are `inputs` times half of the largest power of
// 2, up to 2^15, at which all outputs of `before` are finite. The power is halved, because near the
// largest number the order of a sum decides whether the sum overflows. False if no value of
// `input`, the graph of `before`, is f16, or if the outputs of `before` do not stay finite on 4
// times `inputs`. Executes `before` up to four times, `after` at most once.
absl::StatusOr<bool> OverflowsEarlier(const Graph& input, Executable* before, Executable* after,
                                      absl::Span<const Tensor> inputs);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_HEADROOM_H_
