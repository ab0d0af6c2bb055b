// Replaces numbers of a statement that differ by their rounding only. Internal to the referee.
//
// A model holds numbers in f32, and tools compute them in different ways: x / f32(√2) in one model
// is x * √½ in the definition of another model's operator. As real numbers these differ.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_NEAR_NUMBERS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_NEAR_NUMBERS_H_

#include "rewrite/rules/statement.h"

namespace lemma::referee {

// Replaces a number of the target by one of the source if they differ by at most one unit in the
// last place of f32. Writes a division by a number as a product if the reciprocal is as near to a
// number of the other side. Replaces a number without such a partner by the sum, difference,
// product or quotient of two numbers of the other side if this result rounds to it. Keeps a number
// if two numbers of one side are so near that the choice is not clear. Changes nothing if an f64
// takes part. Returns whether anything changed. Each number then stands for one that f32 rounds to
// it or to its neighbour, so a proof holds only within the rounding of the numbers: it is not bit
// exact.
bool UnifyNearNumbers(Statement* statement);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_NEAR_NUMBERS_H_
