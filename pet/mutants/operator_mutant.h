// Mutants of another operator. Internal to pet: a part of ForEachMutant.
#ifndef LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_
#define LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_

#include <functional>

#include "absl/status/status.h"
#include "pet/mutants/mutant.h"
#include "pet/mutants/samples.h"

namespace lemma::pet {

// For a part of one operator over leaves, or of applications of one operator over leaves that are
// joined by another: each operator of the table that sums products (pet/mutants/contraction.h),
// over the leaves or what they are put together (pet/mutants/operand.h), regrouped, with attributes
// from among the numbers that the part has; what is left of the operands is added, a constant of
// ones divided by; the result is regrouped back. Nothing for other parts.
absl::Status ForEachOperatorMutant(const Graph& original, const MutantOptions& options,
                                   Samples* samples, const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_
