// The reference back ends: run every operator by its definition, in double (integers in int64_t).
#ifndef LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
#define LEMMA_RUNTIME_REFERENCE_REFERENCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor.h"

namespace lemma {

// Whether floating-point values are rounded between operators. Integers and bools are always
// converted to their types.
enum class BetweenOperators {
  kRounded,    // to their types, as when every operator is a kernel: "as typed"
  kUnrounded,  // kept in double and rounded only in graph outputs: nearer to real numbers
};

// The executables free a value after its last use, so MemoryUse::planned_bytes equals live_bytes.
std::unique_ptr<Backend> MakeReferenceBackend(BetweenOperators values = BetweenOperators::kRounded);

// The outputs of one operator application, rounded to their types. `inputs` are its operands.
// Unimplemented if the operator has no executable definition.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, absl::Span<const Tensor> inputs,
                                                 int threads = 1);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
