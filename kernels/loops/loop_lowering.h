// From expressions to loop nests. Internal to evaluation.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_LOWERING_H_
#define LEMMA_KERNELS_LOOPS_LOOP_LOWERING_H_

#include "absl/types/span.h"
#include "kernels/loops/loop_ir.h"
#include "kernels/loops/loop_source.h"

namespace lemma {
namespace loops {

struct LowerOptions {
  bool merge_axes = true;  // of the output box; those of reductions always are
};

// Lowers `source`. Variable i of the nest is source.axes[i]. Indices are brought to a normal form
// in which reshapes of dense tensors cancel; what the ranges of the variables decide (guards,
// bounds, quotients) is decided. Consecutive axes that everything treats as one become one. The
// result is unscheduled.
Nest Lower(const NestSource& source, absl::Span<const Slot> slots,
           const LowerOptions& options = {});

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_LOWERING_H_
