// Adds a summand to a polynomial, in normal form.
#ifndef LEMMA_PET_REGIONS_ADD_SUMMAND_H_
#define LEMMA_PET_REGIONS_ADD_SUMMAND_H_

#include "pet/regions/polynomial.h"

namespace lemma::pet {

// Adds coefficient * `term` to *sum. `term` may have any form; it is brought to normal form
// (Summand): reads are sorted; each axis is turned so that the position of the first read that
// changes along the axis increases; the extent of an axis that no read uses becomes a factor of the
// coefficient; axes are merged and sorted. If *sum has an equal summand, the coefficients are
// added; a summand with coefficient 0 is removed. Defined in polynomial.cc.
void AddSummand(Summand term, Rational coefficient, Polynomial* sum);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_ADD_SUMMAND_H_
