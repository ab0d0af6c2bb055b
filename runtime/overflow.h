// Detects graphs whose values come near the largest float, where the order of a sum decides whether
// it overflows.
#ifndef LEMMA_RUNTIME_OVERFLOW_H_
#define LEMMA_RUNTIME_OVERFLOW_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Whether an operator of the graph makes a finite number within a factor 2^10 of the largest float,
// or makes an infinity or NaN from finite operands. Infinities among the inputs do not count.
absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads = 1);

// As Compare (runtime/tolerance.h), but ignores elements that are infinite or NaN on either side.
// False unless both have the same float type.
bool AgreesWhereFinite(const Tensor& actual, const Tensor& expected, double relative_tolerance);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_OVERFLOW_H_
