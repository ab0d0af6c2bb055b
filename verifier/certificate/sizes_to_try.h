// Sizes of symbolic dimensions at which graphs are compared on random inputs.
#ifndef LEMMA_VERIFIER_CERTIFICATE_SIZES_TO_TRY_H_
#define LEMMA_VERIFIER_CERTIFICATE_SIZES_TO_TRY_H_

#include <cstdint>
#include <map>
#include <string>

#include "graph/sizes/symbolic_size.h"

namespace lemma::certificate {

// A model need not take every size. The first kSmallChoices choices are small: the least sizes,
// then random ones. The others, up to choice kChoicesOfSizes - 1, are multiples of 32, as networks
// for images want them, or the largest size of the range if that is smaller. They are for models
// that take none of the small ones.
constexpr int kSmallChoices = 3, kChoicesOfSizes = 8;
// The sizes of `choice` (0 to kChoicesOfSizes - 1), within the ranges `dims`. `seed` draws random
// sizes.
DimValues SizesToTry(const std::map<std::string, SizeRange>& dims, uint64_t seed, int choice);

}  // namespace lemma::certificate

#endif  // LEMMA_VERIFIER_CERTIFICATE_SIZES_TO_TRY_H_
