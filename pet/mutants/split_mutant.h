// Mutants that leave a part of a sum out, and what they left out. Internal to pet: a part of
// ForEachMutant.
#ifndef LEMMA_PET_MUTANTS_SPLIT_MUTANT_H_
#define LEMMA_PET_MUTANTS_SPLIT_MUTANT_H_

#include <functional>

#include "absl/status/status.h"
#include "pet/mutants/mutant.h"
#include "pet/mutants/samples.h"

namespace lemma::pet {

// The operators over the first part of dimensions of equal size, one at most of each leaf; the rest
// is the same over the other part. A half is cut off, or what is over after a multiple of a digit.
// Mutants are such as give with the rest, added, what the original does, everywhere.
//
// Every product of the original occurs once in one of the two and there is no other, so that a NaN
// or an infinity of a leaf reaches the same elements, unless a sum overflows that would not in the
// other order: no zero is multiplied, and nothing is added that has to be subtracted again.
absl::Status ForEachSplitMutant(const Graph& original, Samples* samples,
                                const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_SPLIT_MUTANT_H_
