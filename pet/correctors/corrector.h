// Correctors: make a mutant equal to its original everywhere.
#ifndef LEMMA_PET_CORRECTORS_CORRECTOR_H_
#define LEMMA_PET_CORRECTORS_CORRECTOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// `value` at the positions of `box` only: its operators, applied to just those parts of the leaves
// that these positions read, as far as that is possible. Parts outside a leaf are padded with
// zeros; a `pads` attribute is then zero. If an operator cannot be cut like that, its whole result
// is used. The returned value is proved equal to the slice (pet/regions/region.h), or is the slice.
absl::StatusOr<Value> Restricted(const Value& value, const Box& box);

// `mutant` with the boxes overwritten by `original`: slices of both, joined by concat.
absl::StatusOr<Value> Overwritten(const Value& original, const Value& mutant,
                                  absl::Span<const Box> boxes);

}  // namespace lemma::pet

#endif  // LEMMA_PET_CORRECTORS_CORRECTOR_H_
