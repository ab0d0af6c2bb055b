// Chooses sizes for symbolic dimensions, at which two graphs are then compared on random inputs.
#ifndef LEMMA_VERIFIER_CERTIFICATE_SIZES_TO_TRY_H_
#define LEMMA_VERIFIER_CERTIFICATE_SIZES_TO_TRY_H_

#include <cstdint>
#include <map>
#include <string>

#include "graph/sizes/symbolic_size.h"

namespace lemma::certificate {

// A choice is one size for each dimension. There are several choices, since a
// model may reject some sizes of its ranges. The first kSmallChoices choices
// are small: choice 0 has the least size of each range, and the other small
// choices have random sizes near it. The later choices, up to kChoicesOfSizes -
// 1, are for models that reject the small choices: each size is a multiple of
// 32, as image networks often require, or the largest size of its range if that
// is smaller.
constexpr int kSmallChoices = 3, kChoicesOfSizes = 8;
// The sizes of choice number `choice` (0 to kChoicesOfSizes - 1). `dims`: the range of each
// dimension, by name. `seed`: for the random sizes.
DimValues SizesToTry(const std::map<std::string, SizeRange>& dims, uint64_t seed, int choice);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_SIZES_TO_TRY_H_
