// A second meaning of the maximum and the minimum, under which every operand counts.
//
// The largest of n random numbers stays the same if one of the others is left out. So a program is
// also checked with max(a, b) = s + (a - s) * (b - s) for a random number s, and another one for
// the minimum: this is commutative and associative too, has the neutral element s + 1, which takes
// the place of the infinity, and every operand changes the result. It is not idempotent.
#ifndef LEMMA_VERIFIER_KERNELS_EXTREMES_H_
#define LEMMA_VERIFIER_KERNELS_EXTREMES_H_

#include <cstdint>
#include <optional>

#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::kernels {

struct Extremes {
  // The numbers s, exact as doubles.
  int64_t max = 0, min = 0;

  Field Apply(ScalarFn fn, Field a, Field b) const {
    const Field s(fn == ScalarFn::kMax ? max : min);
    return s + (a - s) * (b - s);
  }
};

Extremes RandomExtremes(uint64_t seed);

// Whether `definition` has a maximum or a minimum: of two numbers, or only as a reduction.
bool HasExtremes(const Definition& definition, bool only_reductions);

// `definition` with its numbers rounded to f32, if `floats`, and with this meaning in place of the
// maximum, the minimum and the infinities, if `extremes` are given. Indices are left as they are.
Definition Restated(const Definition& definition, bool floats,
                    const std::optional<Extremes>& extremes);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_EXTREMES_H_
