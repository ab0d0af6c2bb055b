// Adds a summand to a polynomial, in normal form.
#ifndef LEMMA_PET_REGIONS_ADD_SUMMAND_H_
#define LEMMA_PET_REGIONS_ADD_SUMMAND_H_

#include "pet/regions/polynomial.h"

namespace lemma::pet {

// Adds coefficient * `term` to *sum. `term` may have any form; AddSummand brings it to normal form
// (Summand):
//   * It sorts the reads.
//   * It turns each axis so that the position of the first read that depends on the axis increases.
//   * It removes axes that no read uses; their extents become factors of the coefficient.
//   * It merges and sorts the axes.
// If *sum has an equal summand, the coefficients are added; a summand with coefficient 0 is
// removed. Defined in polynomial.cc.
void AddSummand(Summand term, Rational coefficient, Polynomial* sum);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_ADD_SUMMAND_H_
