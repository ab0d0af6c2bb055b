// Facts as linear inequalities: each monomial an unknown of its own. Internal to the prover.
#ifndef LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
#define LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_

#include "verifier/arithmetic/fact.h"
#include "verifier/arithmetic/solver.h"

namespace lemma::prover {

// Bounds are rounded first: 2x >= 1 is x >= 1. kNo if a sum of facts, each times a number that is
// not negative (any number, if it is an equation), is a negative constant: that sum is computed,
// not inferred. kYes if integers were found at which all facts hold. Most questions are decided by
// this in a small part of the time that a solver takes to start; kUnknown is for the solver.
// Deterministic.
Satisfiable DecideLinear(const Facts& facts);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_ARITHMETIC_LINEAR_H_
