// Detects graphs whose values come near the largest float, where the order of a sum decides whether
// it overflows.
#ifndef LEMMA_RUNTIME_OVERFLOW_H_
#define LEMMA_RUNTIME_OVERFLOW_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Whether an operator of the graph gives a finite number within a factor 2^10 of the largest f32,
// or gives an infinity or NaN for finite operands. Infinities among the inputs do not count.
absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads = 1);

// Whether Compare (runtime/tolerance.h) finds the tensors within the tolerance if elements that are
// infinite or NaN in either tensor are ignored. False unless both tensors have the same float type
// and the same shape.
bool AgreesWhereFinite(const Tensor& actual, const Tensor& expected, double relative_tolerance);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_OVERFLOW_H_
