// Lowers expressions to loop nests. Internal to kernels.
#ifndef LEMMA_KERNELS_LOOPS_LOOP_LOWERING_H_
#define LEMMA_KERNELS_LOOPS_LOOP_LOWERING_H_

#include "absl/types/span.h"
#include "kernels/loops/loop_ir.h"
#include "kernels/loops/loop_source.h"

namespace lemma {
namespace loops {

struct LowerOptions {
  // Whether to order and merge the axes of the output box. The axes of reductions are always
  // merged.
  bool merge_axes = true;
};

// Lowers `source` to a nest. Variable i of the nest is source.axes[i]. Indices get a normal form in
// which reshapes of dense tensors cancel. Guards, bounds and quotients that the variables' ranges
// decide are resolved. With merge_axes, axes are ordered by their strides in the result, and
// consecutive axes that are always used together become one. The nest is not scheduled.
Nest Lower(const NestSource& source, absl::Span<const Slot> slots,
           const LowerOptions& options = {});

}  // namespace loops
}  // namespace lemma

#endif  // LEMMA_KERNELS_LOOPS_LOOP_LOWERING_H_
