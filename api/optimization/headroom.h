// Recognizes results that overflow f16 on inputs on which the model does not.
#ifndef LEMMA_API_OPTIMIZATION_HEADROOM_H_
#define LEMMA_API_OPTIMIZATION_HEADROOM_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// Whether `after` gives an infinity or NaN on larger inputs, on which `before` gives none. Rules
// that reassociate speak of finite numbers: (q·k)/8 overflows where (q/8)·k does not, and f16 ends
// at 65504. The inputs are `inputs` times half the largest power of 2, up to 2^15, at which all
// outputs of `before` are finite: of a sum near the largest number, the order decides whether it
// overflows. False if no value of `input`, the graph of `before`, is f16. Executes `before` up to
// four times, `after` once.
absl::StatusOr<bool> OverflowsEarlier(const Graph& input, Executable* before, Executable* after,
                                      absl::Span<const Tensor> inputs);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_HEADROOM_H_
