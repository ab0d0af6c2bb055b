// The reference back ends: run every operator by its definition, in double (integers in int64_t).
#ifndef LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
#define LEMMA_RUNTIME_REFERENCE_REFERENCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor.h"

namespace lemma {

// Whether floating values are rounded between operators. Integers and bools always are converted to
// their types.
enum class BetweenOperators {
  kRounded,    // to their types, as when every operator is a kernel: "as typed"
  kUnrounded,  // kept in double and rounded only in graph outputs: nearer to real numbers
};

// Executables free a value after its last use, so MemoryUse::planned_bytes is live_bytes.
std::unique_ptr<Backend> MakeReferenceBackend(BetweenOperators values = BetweenOperators::kRounded);

// One application on host tensors; outputs are rounded to their types.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, absl::Span<const Tensor> inputs,
                                                 int threads = 1);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
