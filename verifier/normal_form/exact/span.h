// What is known of the number that a normal form stands for. Internal to the prover.
#ifndef LEMMA_VERIFIER_NORMAL_FORM_EXACT_SPAN_H_
#define LEMMA_VERIFIER_NORMAL_FORM_EXACT_SPAN_H_

#include <limits>

#include "graph/dtype.h"

namespace lemma::prover {

// The bounds hold unless the value is NaN. They are rounded outwards.
struct Span {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  // Whether the value is finite and a multiple of 2^-unit.
  bool exact = false;
  int unit = 0;
  // Whether a zero may have the sign -.
  bool minus_zero = false;

  bool is_integer() const { return exact && unit == 0; }
  // Whether every such value, and every sum and difference of such values on the way to it, is one
  // of `bits` binary digits.
  bool FitsBits(int bits) const;
  // Whether the element type holds every such value.
  bool Fits(DType dtype) const;
};

// Of a constant; exact if it has few binary digits.
Span SpanOf(double value);
// Of all values of an integer type, or of truth values; not exact for floats.
Span SpanOf(DType dtype);
// Of either.
Span Hull(const Span& a, const Span& b);
Span Plus(const Span& a, const Span& b);
Span Times(const Span& a, const Span& b);
// Whether a product of such numbers may be -0.
bool ProductMayBeMinusZero(const Span& a, const Span& b);

// The digits that a float of this type holds exactly.
int DigitsOf(DType dtype);

}  // namespace lemma::prover

#endif  // LEMMA_VERIFIER_NORMAL_FORM_EXACT_SPAN_H_
