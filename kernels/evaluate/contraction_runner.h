// Runs contractions as blocked matrix products. Internal to kernels/evaluate.
#ifndef LEMMA_KERNELS_EVALUATE_CONTRACTION_RUNNER_H_
#define LEMMA_KERNELS_EVALUATE_CONTRACTION_RUNNER_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/evaluate/index_evaluator.h"
#include "kernels/loops/contraction.h"

namespace lemma {
namespace loops {

// Copies both factors into panels as LaneOps::tile needs them, and multiplies them tile by tile.
// Every element is one plain sum in the order of k. Returns true if the output is computed. Returns
// false if the values of the factors rule that out: over floats, if the sum has a guard
// (Contraction::guarded) and a factor contains an infinity or NaN; over the field, if a factor
// contains a special value; over any type, if the sum has a guard and a read of a factor fails,
// since the guard may exclude this read. The output is then undefined, and the caller must evaluate
// the definition literally. Without a guard, a read that fails is an error. Slots below
// `num_inputs` are inputs; this affects only messages. T is double, float, int64_t or Field.
template <class T>
absl::StatusOr<bool> RunContraction(const Contraction& contraction,
                                    absl::Span<const BoundSlot> slots, int num_inputs, int threads);

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_EVALUATE_CONTRACTION_RUNNER_H_
