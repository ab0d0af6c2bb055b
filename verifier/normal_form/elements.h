// What an element is computed from, as it is written. Internal to the prover.
//
// Two sides that are equal as real numbers still differ by more than rounding where
//   * one reads an element of an input that the other does not: if it is infinite or no number,
//     that shows on one side only;
//   * a value at which the result discontinuities (a comparison's, a rounding function's, a
//   conversion's to
//     integers) is not bit for bit the same: what rounding changed a little may change a lot;
//   * one computes a function where it may have no value (the root of a negative number) and the
//     other does not: √a - √a is 0 or no number. Divisions are not looked at.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_ELEMENTS_H_
#define LEMMA_VERIFIER_NORMAL_FORM_ELEMENTS_H_

#include <map>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "verifier/normal_form/build_form.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

// Sets of values: those of all alternatives where their guards hold.
struct Elements {
  // By input of floats, what is read of it. Elements of integers and truth values are left out:
  // none of them is infinite or not a number.
  std::map<TensorId, std::vector<Alternative>> reads;
  // Values that jump where what they are made of does not; arithmetic in them is uninterpreted and
  // rounds as it is written. What is computed in integers alone is exact, so left out.
  std::vector<Alternative> discontinuities;
  // Values of functions that have none for some numbers; arithmetic in them is interpreted.
  std::vector<Alternative> partial;
  bool complete = true;  // false: there are too many, or some cannot be expressed
};

// Of one side's element of `tensor` at `at`. `finite`: by input, whether all its elements are
// finite, so that it does not matter which are read; those beyond its end are not.
Elements ElementsOf(Forms* forms, const Definition& definition, const std::vector<int>* operators,
                    const LeafMap& symbols, const std::vector<bool>& finite, TensorId tensor,
                    const std::vector<Poly>& at);

// Rewrites positions and the axes they run over, so that sets that are equal look more alike.
void Simplify(Normalizer* normalizer, const Facts& facts, Elements* elements);

// The same of Elements::partial, whose arithmetic is interpreted.
void SimplifyPartial(Normalizer* normalizer, const Facts& facts, Elements* elements);

// Forms that are equal, arithmetic being uninterpreted, if the sets of what is read and of
// discontinuities are: [0] of `a`, [1] of `b`. Both are complete.
std::vector<NormalForm> FormsOf(const Elements& a, const Elements& b);
// The same, arithmetic being interpreted, of Elements::partial.
std::vector<NormalForm> PartialFormsOf(const Elements& a, const Elements& b);

// Whether a result of the definition discontinuities anywhere.
bool Jumps(const Definition& definition);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_ELEMENTS_H_
