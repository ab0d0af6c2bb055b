// The reference back end: every operator by its definition, in double (integers in int64_t).
#ifndef LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
#define LEMMA_RUNTIME_REFERENCE_REFERENCE_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/executor.h"

namespace lemma {

// Executables free a value after its last use, so MemoryUse::planned_bytes is live_bytes. Between
// operators values are kept in double (or int64_t) and rounded to their type only in graph outputs
// of floating type; an integer or bool value is converted at once.
std::unique_ptr<Backend> MakeReferenceBackend();

// One application on host tensors, outputs rounded to their types.
absl::StatusOr<std::vector<Tensor>> EvaluateNode(const Node& node, absl::Span<const Tensor> inputs,
                                                 int threads = 1);

// How a definition with these element types is to be computed: exactly in integers when no floating
// type takes part, else in double.
bool ComputesInIntegers(const Definition& definition);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_REFERENCE_REFERENCE_H_
