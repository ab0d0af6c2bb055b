// Decides systems of linear integer inequalities without a solver. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
#define LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_

#include "verifier/arithmetic/fact.h"
#include "verifier/arithmetic/solver.h"

namespace lemma::prover {

// Whether all facts can hold at once if each monomial counts as an unknown of its own. Bounds are
// rounded first: 2x >= 1 becomes x >= 1.
//   * kYes: integers were found for the unknowns at which all facts hold.
//   * kNo: a sum of multiples of the facts, with nonnegative factors for inequalities, is a
//     negative constant. The code computes this sum as a check.
//   * kUnknown: a solver must be asked.
//
// For most questions DecideLinear takes much less time than a solver takes to start. Deterministic.
Satisfiable DecideLinear(const Facts& facts);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
