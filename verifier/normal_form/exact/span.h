// Bounds and exactness of the number that a normal form stands for. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_EXACT_SPAN_H_
#define LEMMA_VERIFIER_NORMAL_FORM_EXACT_SPAN_H_

#include <limits>

#include "graph/dtype.h"

namespace lemma::prover {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Known bounds of a value: low <= value <= high unless it is NaN. Bounds are rounded outwards.
struct Span {
  double low = -kInfinity, high = kInfinity;
  // Whether the value is known to be finite and a multiple of 2^-unit.
  bool exact = false;
  int unit = 0;
  bool minus_zero = false;  // whether the value may be -0; means nothing unless `exact`

  bool is_integer() const { return exact && unit == 0; }
  // False if the value is not exact or a bound is infinite. Otherwise let m be
  // the larger of |low| and |high|: true if a float with `bits` binary digits
  // represents each multiple of 2^-unit from -m to m. The limited range of its
  // exponent is ignored.
  bool FitsBits(int bits) const;
  // Whether the element type represents every value of this span exactly; -0 counts as 0. False if
  // not known.
  bool Fits(DType dtype) const;
};

// The span of a constant; exact if it is n * 2^-k with |n| <= 2^53 and 0 <= k <= 24.
Span SpanOf(double value);
// The span of all values of an element type; exact for integers and truth values, unbounded for
// others.
Span SpanOf(DType dtype);
// Hull: the span of a number that is in `a` or in `b`. Plus, Times: the span of the sum, and of the
// product, of a number in `a` and a number in `b`. Plus and Times set minus_zero to false: if the
// result may be -0, the caller must set it.
Span Hull(const Span& a, const Span& b);
Span Plus(const Span& a, const Span& b);
Span Times(const Span& a, const Span& b);
// Whether the product of a number in `a` and one in `b` may be -0.
bool ProductMayBeMinusZero(const Span& a, const Span& b);

// The number of binary digits of the significand of f64, f32, f16 or bf16; 0 for other types.
int DigitsOf(DType dtype);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_EXACT_SPAN_H_
