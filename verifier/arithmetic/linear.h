// Decides systems of linear integer inequalities without a solver. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
#define LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_

#include "verifier/arithmetic/fact.h"
#include "verifier/arithmetic/solver.h"

namespace lemma::prover {

// Whether all facts can hold at once if each monomial counts as an unknown of its own. Bounds are
// rounded first: 2x >= 1 becomes x >= 1. kNo: they cannot, since a sum of facts, each times a
// nonnegative number (any number, if the fact is an equation), is a negative constant; the code
// computes this sum as a check. kYes: they can, since integers were found for the unknowns.
// kUnknown: a solver must be asked. For most questions DecideLinear takes much less time than a
// solver takes to start. Deterministic.
Satisfiable DecideLinear(const Facts& facts);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
