// Enumerates mutants that leave out a part of a sum, with the part to add; a part of ForEachMutant.
#ifndef LEMMA_PET_MUTANTS_SPLIT_MUTANT_H_
#define LEMMA_PET_MUTANTS_SPLIT_MUTANT_H_

#include <functional>

#include "absl/status/status.h"
#include "pet/mutants/mutant.h"
#include "pet/mutants/samples.h"

namespace lemma::pet {

// Cuts some inputs and weights in two along one dimension each; these dimensions have equal sizes.
// The mutant applies the operators to the first parts; Mutant::rest applies them to the second
// parts.
// An even size is cut in the middle. For each of the numbers 2, 3 and 4 that is below the size and
// does not divide it, there is also a cut at the largest multiple of the number. Finds only mutants
// whose sum with the rest equals the original everywhere. Calls `found` for each mutant until
// `found` returns false. `samples` must be made from the output of `original`.
//
// Each product of the original occurs exactly once, either in the mutant or in the rest, and
// neither has other products. So a NaN or an infinity of a leaf reaches the same elements as in the
// original: no zeros are multiplied, and nothing is subtracted again. The new order of the sum may
// overflow where the original order does not.
absl::Status ForEachSplitMutant(const Graph& original, Samples* samples,
                                const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_SPLIT_MUTANT_H_
