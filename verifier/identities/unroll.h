// Writes out reductions over axes of small constant extents. Internal to the prover.
#ifndef LEMMA_VERIFIER_IDENTITIES_UNROLL_H_
#define LEMMA_VERIFIER_IDENTITIES_UNROLL_H_

#include <cstdint>
#include <optional>

#include "verifier/normal_form/normal_form.h"

namespace lemma::prover {

struct Range {
  int64_t low = 0, high = 0;  // both included
};

// The range that `facts` give for `leaf`. Only inequalities that contain no other leaf count.
// nullopt if `facts` do not bound `leaf` on both sides, or if the range is empty or has more than
// 16 values.
std::optional<Range> SmallRange(const Facts& facts, Leaf leaf);

// The value of `form`, with reductions (sums, products, maxima) over axes with a SmallRange written
// out, also in arguments of functions. With Laws::kNone, only maxima are written out. A form that
// would get more than 600 summands stays as it is. Sets *changed to true if it finds an axis to
// write out, even if the form then stays as it is; otherwise leaves *changed as it is.
NormalForm Unrolled(NormalForms* forms, Laws laws, const NormalForm& form, bool* changed);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_IDENTITIES_UNROLL_H_
