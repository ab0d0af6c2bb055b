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

// The values of `leaf` that the inequalities on this leaf alone allow. nullopt if they allow no
// value or more than 16.
std::optional<Range> SmallRange(const Facts& facts, Leaf leaf);

// The same value, with reductions (sums, products, maxima) over axes with a SmallRange written out,
// also those in arguments of functions. With Laws::kNone, writes out maxima only. Sets *changed to
// true if there were such axes; otherwise leaves it as it was.
NormalForm Unrolled(NormalForms* forms, Laws laws, const NormalForm& form, bool* changed);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_IDENTITIES_UNROLL_H_
