// Correctors: what makes a mutant equal to its original everywhere.
#ifndef LEMMA_PET_CORRECTORS_CORRECTOR_H_
#define LEMMA_PET_CORRECTORS_CORRECTOR_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "pet/regions/box.h"

namespace lemma::pet {

// `value` at the positions of `box` alone: the operators over those parts of the leaves that these
// positions read, as far as that is found; what is outside a leaf is padded with zeros, and an
// attribute `pads` is zero then. Where an operator cannot be cut like that, its whole result is.
// What is returned is proved equal to the slice (pet/regions/region.h), or is the slice.
absl::StatusOr<Value> Restricted(const Value& value, const Box& box);

// `mutant` with the boxes overwritten by `original`: slices of both, put together by concat.
absl::StatusOr<Value> Overwritten(const Value& original, const Value& mutant,
                                  absl::Span<const Box> boxes);

}  // namespace lemma::pet

#endif  // LEMMA_PET_CORRECTORS_CORRECTOR_H_
