// Collects the values that one side of a claim reads and computes for one element of an output. The
// definition is taken as it is written, before any simplification. The float contract depends on
// these values. Internal to the prover.
//
// Two sides that are equal as real numbers may still differ by more than rounding, where
//   * only one side reads some element of an input: an infinity or NaN shows on that side only;
//   * a comparison, a rounding function or a conversion to integers has an operand that is not
//     equal bit for bit on both sides: the result depends on this operand discontinuously, so
//     rounding may change the result a lot;
//   * only one side computes a function that has no value for some operands. For example, √a - √a
//     and 0 differ if a is negative: the root is NaN then. Divisions are not checked.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_ELEMENTS_H_
#define LEMMA_VERIFIER_NORMAL_FORM_ELEMENTS_H_

#include <map>
#include <vector>

#include "graph/expr/tensor_expr.h"
#include "verifier/normal_form/build_form.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/normal_form/normalize.h"

namespace lemma::prover {

// Sets of values. A set contains the values of all its alternatives (normal_form.h) where their
// guards are true.
struct Elements {
  // By float input: the elements read. Elements of integer and truth-value inputs are left out,
  // since none of them is infinite or NaN.
  std::map<TensorId, std::vector<Alternative>> reads;
  // Values of functions that are discontinuous in their operands. Arithmetic in them is
  // uninterpreted (Laws::kNone) and rounds as written. Pure integer computations are exact and left
  // out.
  std::vector<Alternative> discontinuities;
  // Values of functions that are undefined for some numbers. Arithmetic in them is interpreted
  // (Laws::kRing).
  std::vector<Alternative> partial;
  bool complete = true;  // false: there are too many values, or some cannot be expressed
};

// The sets for one side's element of `tensor` at index `at`. `symbols`, `operators`: as in
// FormBuilder. `finite`: by input, whether all its elements are finite; reads of such an input are
// left out. An input beyond the end of `finite` does not count as finite.
Elements ElementsOf(NormalForms* forms, const Definition& definition,
                    const std::vector<int>* operators, const LeafMap& symbols,
                    const std::vector<bool>& finite, TensorId tensor, const std::vector<Poly>& at);

// Simplifies the sets of reads and discontinuities, so that more equal sets are recognized.
// `normalizer` must have Laws::kNone.
void Simplify(Normalizer* normalizer, const Facts& facts, Elements* elements);

// The same for Elements::partial. `normalizer` must have Laws::kRing.
void SimplifyPartial(Normalizer* normalizer, const Facts& facts, Elements* elements);

// Two forms, [0] for `a` and [1] for `b`, that are equal under uninterpreted arithmetic exactly if
// the sides have equal sets of reads and of discontinuities. `a` and `b` must be complete.
std::vector<NormalForm> FormsOf(const Elements& a, const Elements& b);
// The same for Elements::partial, under interpreted arithmetic.
std::vector<NormalForm> PartialFormsOf(const Elements& a, const Elements& b);

// Whether some output of the definition may be discontinuous in its inputs at some point.
bool IsDiscontinuous(const Definition& definition);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_ELEMENTS_H_
