// Correctors: make a mutant equal to its original everywhere.
#ifndef LEMMA_PET_CORRECTORS_CORRECTOR_H_
#define LEMMA_PET_CORRECTORS_CORRECTOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// `value` at the positions of `box` only. Applies the operator that computes `value` only to those
// parts of its operands that these positions read. The operands are restricted in the same way,
// down to the leaves. Positions outside an operand become explicit zeros, and `pads` attributes
// become 0. If an operator cannot be restricted like this, its whole result is sliced. The returned
// value is the slice of `value`, or is proved equal to the slice (pet/regions/region.h).
absl::StatusOr<Value> Restricted(const Value& value, const Box& box);

// `mutant` with the boxes overwritten by `original`: slices of `mutant` and Restricted values of
// `original`, joined by concats (and reshapes, if boxes have steps). The boxes must be disjoint.
absl::StatusOr<Value> Overwritten(const Value& original, const Value& mutant,
                                  absl::Span<const Box> boxes);

}  // namespace lemma::pet

#endif  // LEMMA_PET_CORRECTORS_CORRECTOR_H_
