// Enumerates mutants that use another operator. ForEachMutant (pet/mutants/mutant.h) calls this
// function.
#ifndef LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_
#define LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_

#include <functional>

#include "absl/status/status.h"
#include "pet/mutants/mutant.h"
#include "pet/mutants/samples.h"

namespace lemma::pet {

// Finds mutants of one operator over leaves, or of several applications of one operator over leaves
// whose results another operator joins. The operator must have at most three operands. For any
// other graph, returns OK without a call of `found`.
//
// Tries each operator of the operator table that sums products (pet/mutants/contraction.h):
//   * Its operands are made from the leaves (pet/mutants/operand.h) and regrouped.
//   * Its attributes have their default values or candidates of Siblings (pet/mutants/operand.h).
//   * Its result is regrouped to the original's shape.
//   * If the original's operator has a third operand, such as a bias, this operand is added to the
//     result. If the new operator takes three operands, mutants that pass it this operand are tried
//     too.
//   * If the original's operator has one operand, the other operand of the new operator is a
//     constant of ones. The result may also be divided by a number.
//
// Calls `found` for each mutant until `found` returns false. `samples` must be made from the output
// of `original`.
absl::Status ForEachOperatorMutant(const Graph& original, const MutantOptions& options,
                                   Samples* samples, const std::function<bool(Mutant)>& found);

}  // namespace lemma::pet

#endif  // LEMMA_PET_MUTANTS_OPERATOR_MUTANT_H_
