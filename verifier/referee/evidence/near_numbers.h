// Makes numbers of a statement's two sides equal if they differ only by their rounding. Internal to
// the referee.
//
// A model holds numbers in f32, and tools compute them in different ways: x / f32(√2) in one model
// is x * √½ in the definition of another model's operator. As real numbers, f32(√2) and √2 differ.
#ifndef LEMMA_VERIFIER_REFEREE_EVIDENCE_NEAR_NUMBERS_H_
#define LEMMA_VERIFIER_REFEREE_EVIDENCE_NEAR_NUMBERS_H_

#include "rewrite/rules/statement.h"

namespace lemma::referee {

// Two numbers are near if they have one sign and differ by at most 2^-23 of the smaller magnitude,
// as neighbors in f32 do. The function
//   * replaces a number of the target by a near number of the source;
//   * writes a division by a number as a product if the reciprocal is near to a number of the other
//     side;
//   * replaces a number without a near number by an expression whose value is
//     near: the sum, difference, product or quotient of two numbers of the
//     other side, or the negation of a number or of such a result.
// It keeps a number that is a multiple of 1/4096, because such a number probably was not rounded.
// It also keeps a number if several numbers of one side are near, because the choice is not clear.
// It changes nothing if the statement has an f64. Returns whether anything changed. If so, a proof
// of the statement is true only up to the rounding of the numbers, and is not bit exact.
bool UnifyNearNumbers(Statement* statement);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_EVIDENCE_NEAR_NUMBERS_H_
