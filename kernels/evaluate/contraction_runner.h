// Runs contractions as blocked matrix products. Internal to kernels/evaluate.
#ifndef LEMMA_KERNELS_EVALUATE_CONTRACTION_RUNNER_H_
#define LEMMA_KERNELS_EVALUATE_CONTRACTION_RUNNER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/evaluate/index_evaluator.h"
#include "kernels/loops/contraction.h"

namespace lemma {
namespace loops {

// Copies both factors into panels as LaneOps::tile needs them, and multiplies the panels tile by
// tile. Every element of the output is one plain sum in the order of k. T is double, float, int64_t
// or Field. Slots below `num_inputs` are inputs; this affects only messages.
//
// Returns true if the output is computed. In the following cases it returns false, the output is
// undefined, and the caller must evaluate the definition literally:
//   * T is a float type, the sum has a guard (Contraction::guarded), and a factor contains an
//     infinity or NaN.
//   * T is Field, and a factor contains a special value.
//   * The sum has a guard, and a read of a factor fails. The guard may exclude this read; without a
//     guard, a read that fails is an error.
template <class T>
absl::StatusOr<bool> RunContraction(const Contraction& contraction,
                                    absl::Span<const BoundSlot> slots, int num_inputs, int threads);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_EVALUATE_CONTRACTION_RUNNER_H_
