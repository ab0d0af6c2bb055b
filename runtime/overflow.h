// Detects graphs whose values come near the largest f32 number. There, the order in which the terms
// of a sum are added decides whether the sum overflows.
#ifndef LEMMA_RUNTIME_OVERFLOW_H_
#define LEMMA_RUNTIME_OVERFLOW_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Executes the graph by its definitions (AllValues in runtime/reference/all_values.h, whose errors
// it returns). True if an operator's result has a finite element of magnitude above 2^-10 times the
// largest f32, or has an infinity or a NaN although all operands are finite. Infinities and NaNs
// among the inputs alone do not make it true.
absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads = 1);

// As Compare (runtime/tolerance.h), but ignores the elements that are infinite or NaN in either
// tensor: whether all others are within the tolerance. False unless both tensors have the same
// float type and the same shape.
bool AgreesWhereFinite(const Tensor& actual, const Tensor& expected, double relative_tolerance);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_OVERFLOW_H_
