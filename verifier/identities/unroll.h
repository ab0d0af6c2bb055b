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

// The values of `leaf` that the facts about it alone leave; nullopt if there are none or more than
// a few, or if another fact than an inequality bounds it.
std::optional<Range> SmallRange(const Facts& facts, Leaf leaf);

// The same value, where sums, products and maxima over such axes are written out, also in
// functions; with laws kNone only maxima.
// *changed becomes true if there were such axes.
NormalForm Unrolled(NormalForms* forms, Laws laws, const NormalForm& form, bool* changed);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_IDENTITIES_UNROLL_H_
