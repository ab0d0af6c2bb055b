// Normalizes summands of polynomials when adding them.
#ifndef LEMMA_PET_REGIONS_ADD_SUMMAND_H_
#define LEMMA_PET_REGIONS_ADD_SUMMAND_H_

#include "pet/regions/polynomial.h"

namespace lemma::pet {

// Adds coefficient * `term` in normal form, whatever form `term` has.
void AddSummand(Summand term, Rational coefficient, Polynomial* sum);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_ADD_SUMMAND_H_
