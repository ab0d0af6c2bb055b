// Sums of terms. Internal to pet.
#ifndef LEMMA_PET_REGIONS_TERM_FORM_H_
#define LEMMA_PET_REGIONS_TERM_FORM_H_

#include "pet/regions/polynomial.h"

namespace lemma::pet {

// Adds coefficient * term, whatever form the term has, in normal form.
void AddTerm(PolyTerm term, Rational coefficient, Polynomial* sum);

}  // namespace lemma::pet

#endif  // LEMMA_PET_REGIONS_TERM_FORM_H_
