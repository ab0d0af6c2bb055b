// Outputs that differ because rounding took a value across a jump.
#ifndef LEMMA_CLI_JUMP_H_
#define LEMMA_CLI_JUMP_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "runtime/executor.h"

namespace lemma::cli {

// For two graphs with the same meaning whose outputs on `inputs` differ by more than rounding
// explains: whether they agree in double on these inputs, and as executed on others close to them.
// Then one rounding put some value on the other side of a jump, such as the one of relu's gradient
// at 0, and the other did not. What computes something else fails in double, what is unstable on
// all inputs. Takes up to seven executions of both graphs, one of them by definitions.
absl::StatusOr<bool> DifferByAJump(const Graph& before, Executable* run_before, const Graph& after,
                                   Executable* run_after, absl::Span<const Tensor> inputs,
                                   int threads);

}  // namespace lemma::cli

#endif  // LEMMA_CLI_JUMP_H_
