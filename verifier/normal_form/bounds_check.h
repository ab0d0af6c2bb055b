// Obligations of one side alone: reads inside tensors, divisors positive. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_BOUNDS_CHECK_H_
#define LEMMA_VERIFIER_NORMAL_FORM_BOUNDS_CHECK_H_

#include <string>

#include "verifier/normal_form/build_form.h"

namespace lemma::prover {

// Empty if every read of `definition` is inside its tensor and every divisor is positive, wherever
// `facts` hold; else the first that was not proved. A position that a tensor holds is checked when
// it is read and assumed here.
std::string UnprovedRead(Forms* forms, Arith* arith, const Definition& definition,
                         const LeafMap& symbols, const Facts& facts);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_BOUNDS_CHECK_H_
