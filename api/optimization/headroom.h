// Recognizes optimized graphs that overflow f16 on inputs on which the original graph does not.
#ifndef LEMMA_API_OPTIMIZATION_HEADROOM_H_
#define LEMMA_API_OPTIMIZATION_HEADROOM_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::api {

// Returns whether `after` gives an infinity or NaN on larger inputs, on which
// `before` gives none. `before` executes the original graph `input`; `after`
// executes an optimized graph. (Rules that reassociate hold for finite numbers
// only: (q·k)/8 overflows where (q/8)·k does not, and the largest number of f16
// is 65504.) The larger inputs are c · `inputs`. The factor c is half of the
// largest power of 2, up to 2^15, by which `inputs` can be multiplied so that
// all outputs of `before` stay finite. Returns false if no value of `input` is
// f16, or if the outputs of `before` are not all finite on 4 · `inputs`.
// Executes `before` up to four times, `after` at most once.
absl::StatusOr<bool> OverflowsEarlier(const Graph& input, Executable* before, Executable* after,
                                      absl::Span<const Tensor> inputs);

}  // namespace lemma::api

#endif  // LEMMA_API_OPTIMIZATION_HEADROOM_H_
