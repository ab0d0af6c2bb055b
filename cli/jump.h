// Outputs that differ because rounding took a value across a jump.
#ifndef LEMMA_CLI_JUMP_H_
#define LEMMA_CLI_JUMP_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::cli {

// For two graphs with the same meaning whose outputs on `inputs` differ by more than rounding
// explains: whether they agree in double, and `after` as executed either agrees with `before` on
// some inputs near these or, where `before` itself is further from the outputs in double than
// rounding explains, is at most four times as far. Then rounding put values on other sides of a
// jump, such as the one of relu's gradient at 0. What computes something else fails in double, what
// is unstable where `before` is not on all inputs. Executes both by definitions, and up to seven
// times each.
absl::StatusOr<bool> DifferByAJump(const Graph& before, Executable* run_before, const Graph& after,
                                   Executable* run_after, absl::Span<const Tensor> inputs,
                                   int threads);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_JUMP_H_
