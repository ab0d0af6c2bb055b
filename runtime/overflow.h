// Detects graphs whose values come near the largest f32 number. There, a sum or a product may
// overflow in one order of its terms or factors, and not in another.
#ifndef LEMMA_RUNTIME_OVERFLOW_H_
#define LEMMA_RUNTIME_OVERFLOW_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma {

// Executes the graph by its definitions. Returns true in three cases:
//   * An operator's result has a finite element of magnitude above 2^-10 times
//     the largest f32.
//   * An operator's result has an infinity or a NaN although all its operands
//     are finite.
//   * An operator whose operands are all finite multiplies elements of an
//     operand in a reduction, and some of these elements have a product of such
//     a magnitude.
// Errors are those of AllValues (runtime/reference/all_values.h).
absl::StatusOr<bool> NearsOverflow(const Graph& graph, absl::Span<const Tensor> inputs,
                                   int threads = 1);

// Whether all elements that are finite in both tensors are within the tolerance (Compare in
// runtime/tolerance.h). False unless both tensors have the same float type and the same shape.
bool AgreesWhereFinite(const Tensor& actual, const Tensor& expected, double relative_tolerance);

}  // namespace lemma

#endif  // LEMMA_RUNTIME_OVERFLOW_H_
