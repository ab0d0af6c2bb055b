// Adds a summand to a polynomial, in the one form that equal summands share.
#ifndef LEMMA_PET_REGIONS_ADD_SUMMAND_H_
#define LEMMA_PET_REGIONS_ADD_SUMMAND_H_

#include "pet/regions/polynomial.h"

namespace lemma::pet {

// Adds coefficient * `term` to *sum. `term` may have any form: its reads and axes are sorted, its
// axes merged, and axes that no read uses become a factor of the coefficient. Summands that become
// equal are collected; a summand with coefficient 0 is removed. Defined in polynomial.cc.
void AddSummand(Summand term, Rational coefficient, Polynomial* sum);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_ADD_SUMMAND_H_
