// The reference back ends execute every operator by its definition, in double (integers in
// int64_t).
#ifndef LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
#define LEMMA_RUNTIME_REFERENCE_REFERENCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor.h"

namespace lemma {

// Whether floating-point results of operators are rounded to their types. Integers, bools and small
// floats (graph/dtype.h) are always converted to their types.
enum class BetweenOperators {
  kRounded,    // rounded, as if every operator were a kernel of its own: "as typed"
  kUnrounded,  // kept in double, and rounded only if they are graph outputs: nearer to real numbers
};

// The executables free a value after its last use, so planned_bytes and live_bytes of MemoryUse are
// equal. A graph with opaque operators is executed in stages (runtime/staged/staged.h); then the
// values that one stage hands to another are rounded to their types, and planned_bytes is the sum
// over the stages compiled so far.
std::unique_ptr<Backend> MakeReferenceBackend(BetweenOperators values = BetweenOperators::kRounded);

// The outputs of `node`, which must be an operator, rounded to their types. `inputs` are the values
// of its operands. Unimplemented if the operator has no executable definition.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, absl::Span<const Tensor> inputs,
                                                 int threads = 1);
// The same, but the definition is computed in float instead of double, locals
// and sums included. So numbers may overflow that do not overflow in
// EvaluateNode.
absl::StatusOr<std::vector<Tensor>> EvaluateNodeInFloat(const Node& node,
                                                        absl::Span<const Tensor> inputs);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
