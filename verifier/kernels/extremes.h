// A second meaning of the maximum and the minimum, under which every operand changes the result.
//
// The largest of n random numbers stays the same if a smaller number is left
// out. So a check at random numbers could miss a kernel that leaves out an
// operand. Therefore, a program is also checked with
// max(a, b) = s + (a - s) * (b - s) for a random number s, and with another s
// for the minimum. Like the maximum, this operation is commutative and
// associative. Its neutral element is s + 1, which takes the place of -inf for
// the maximum and of inf for the minimum. Unlike the maximum, it is not
// idempotent.
#ifndef LEMMA_VERIFIER_KERNELS_EXTREMES_H_
#define LEMMA_VERIFIER_KERNELS_EXTREMES_H_

#include <cstdint>
#include <optional>

#include "graph/expr/field.h"
#include "graph/expr/tensor_expr.h"

namespace lemma::kernels {

struct Extremes {
  // The numbers s of the maximum and of the minimum; both are exact as doubles.
  int64_t max = 0, min = 0;

  // The operation for fn, which is kMax or kMin.
  Field Apply(ScalarFn fn, Field a, Field b) const {
    const Field s(fn == ScalarFn::kMax ? max : min);
    return s + (a - s) * (b - s);
  }
};

// Draws the numbers s. The result depends on `seed` only.
Extremes RandomExtremes(uint64_t seed);

// Whether `definition` has a maximum or minimum over axes. Unless `only_reductions`, a maximum or
// minimum of two numbers counts, too.
bool HasExtremes(const Definition& definition, bool only_reductions);

// A changed copy of `definition`. If `floats`, its constants are rounded to f32. If `extremes` are
// given, maxima and minima become the operations of `extremes`, and infinities become the neutral
// elements. Indices do not change.
Definition Restated(const Definition& definition, bool floats,
                    const std::optional<Extremes>& extremes);

}  // namespace lemma::kernels

#endif  // LEMMA_VERIFIER_KERNELS_EXTREMES_H_
