// Proves the obligations of one side of a claim: every read is inside its tensor, and every divisor
// in index arithmetic is positive. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_BOUNDS_CHECK_H_
#define LEMMA_VERIFIER_NORMAL_FORM_BOUNDS_CHECK_H_

#include <string>

#include "verifier/normal_form/build_form.h"

namespace lemma::prover {

// "" if every read of `definition` is proved to be inside its tensor, and every divisor of an index
// quotient or remainder is proved to be positive, wherever `facts` hold. Otherwise describes the
// first read or divisor without a proof, or a part that has no normal form (FormBuilder::error).
// Divisions of elements are not checked. An index that is itself loaded from a tensor (as in
// gather) is not checked here; it is assumed to be in bounds. `symbols` replaces symbols of the
// definition by polynomials.
std::string UnprovedRead(NormalForms* forms, Arith* arith, const Definition& definition,
                         const LeafMap& symbols, const Facts& facts);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_BOUNDS_CHECK_H_
