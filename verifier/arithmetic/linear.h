// Decides systems of linear integer inequalities without a solver. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
#define LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_

#include "verifier/arithmetic/fact.h"
#include "verifier/arithmetic/solver.h"

namespace lemma::prover {

// Whether all facts can hold at once, where each monomial is an unknown of its own. Bounds are
// rounded first: 2x >= 1 is x >= 1. kNo: a sum of facts, each times a nonnegative number (any
// number, if the fact is an equation), is a negative constant; that sum is computed, not inferred.
// kYes: integers were found for the unknowns. kUnknown: ask a solver. For most questions this takes
// much less time than a solver takes to start. Deterministic.
Satisfiable DecideLinear(const Facts& facts);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
