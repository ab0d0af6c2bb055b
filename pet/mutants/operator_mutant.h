// Enumerates mutants that use another operator; a part of ForEachMutant.
#ifndef LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_
#define LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_

#include <functional>

#include "absl/status/status.h"
#include "pet/mutants/mutant.h"
#include "pet/mutants/samples.h"

namespace lemma::pet {

// Handles one operator over leaves, or several applications of one operator over leaves whose
// results another operator joins; other graphs have no such mutants. Tries each operator of the
// table that sums products (pet/mutants/contraction.h), on operands made from the leaves
// (pet/mutants/operand.h) and regrouped, with attributes made from the part's own numbers.
// Remaining operands are added; with a constant of ones as an operand, the result may be divided.
// The result is regrouped back. Calls `found` for each mutant until it returns false.
absl::Status ForEachOperatorMutant(const Graph& original, const MutantOptions& options,
                                   Samples* samples, const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_
