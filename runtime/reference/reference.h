// The reference back ends: every operator by its definition, in double (integers in int64_t).
#ifndef LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
#define LEMMA_RUNTIME_REFERENCE_REFERENCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor.h"

namespace lemma {

// What happens to floating values between operators. An integer or bool value is always converted
// to its type at once.
enum class BetweenOperators {
  kRounded,    // to their types, as in every execution whose operators are kernels: "as typed"
  kUnrounded,  // kept in double, and rounded in graph outputs alone: nearer to the real numbers
};

// Executables free a value after its last use, so MemoryUse::planned_bytes is live_bytes.
std::unique_ptr<Backend> MakeReferenceBackend(BetweenOperators values = BetweenOperators::kRounded);

// One application on host tensors, outputs rounded to their types.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, absl::Span<const Tensor> inputs,
                                                 int threads = 1);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
