// Which inputs an element reads. Internal to the prover.
#ifndef LEMMA_VERIFIER_INPUTS_READ_H_
#define LEMMA_VERIFIER_INPUTS_READ_H_

#include <functional>
#include <set>

#include "graph/expr/tensor_expr.h"
#include "verifier/normal_form.h"

namespace lemma::verify {

// The inputs of floats whose elements are part of the form's value. Integers,
// truth values and elements that only decide a position are left out: none of
// them is infinite or not a number. What is under guards that are `excluded`
// together is not read.
std::set<TensorId> FloatsRead(const Definition& definition, const NormalForm& form,
                              const std::function<bool(const Facts&)>& excluded);

// The same of the definition of a tensor as it is written, whatever its guards
// exclude.
std::set<TensorId> FloatsReachable(const Definition& definition, TensorId tensor);

}  // namespace lemma::verify

#endif  // LEMMA_VERIFIER_INPUTS_READ_H_
