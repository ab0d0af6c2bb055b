// Normalizes terms of polynomials when adding them.
#ifndef LEMMA_PET_REGIONS_TERM_FORM_H_
#define LEMMA_PET_REGIONS_TERM_FORM_H_

#include "pet/regions/polynomial.h"

namespace lemma::pet {

// Adds coefficient * term, in normal form; `term` may have any form.
void AddTerm(PolyTerm term, Rational coefficient, Polynomial* sum);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_TERM_FORM_H_
