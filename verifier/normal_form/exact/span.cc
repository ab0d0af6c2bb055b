#include "verifier/normal_form/exact/span.h"

#include <algorithm>
#include <cmath>

namespace lemma::prover {
namespace {

constexpr int kMaxUnit = 60;

// Moves the bounds outwards unless they are sums or products of exact numbers, and few digits hold
// them: then no double was rounded.
void Widen(Span* span) {
  for (double* end : {&span->low, &span->high}) {
    if (span->exact && std::abs(std::ldexp(*end, span->unit)) < 0x1p53) continue;
    *end = std::nextafter(*end, end == &span->low ? -kInfinity : kInfinity);
  }
}

// 0 * infinity is 0: a bound that is not known times a number that is 0.
double Product(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

bool MayBeZero(const Span& s) { return s.low <= 0 && s.high >= 0; }
bool MayBeNegative(const Span& s) { return s.low < 0 || s.minus_zero; }

}  // namespace

int DigitsOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 53;
    case DType::kF32:
      return 24;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    default:
      return 0;
  }
}

bool Span::FitsBits(int bits) const {
  if (!exact || !std::isfinite(low) || !std::isfinite(high)) return false;
  return std::ldexp(std::max(std::abs(low), std::abs(high)), unit) <= std::ldexp(1.0, bits);
}

bool Span::Fits(DType dtype) const {
  if (!exact) return false;
  if (const int digits = DigitsOf(dtype); digits > 0) return unit <= 14 && FitsBits(digits);
  if (unit != 0 || IsSmallFloat(dtype)) return false;
  const Span all = SpanOf(dtype);
  return low >= all.low && high <= all.high;
}

Span SpanOf(double value) {
  Span span;
  if (std::isnan(value)) return span;
  span.low = span.high = value;
  span.minus_zero = value == 0 && std::signbit(value);
  if (!std::isfinite(value)) return span;
  for (int unit = 0; unit <= 24; ++unit) {
    const double scaled = std::ldexp(value, unit);
    if (std::abs(scaled) > 0x1p53) break;
    if (scaled != std::floor(scaled)) continue;
    span.exact = true;
    span.unit = unit;
    break;
  }
  return span;
}

Span SpanOf(DType dtype) {
  Span span;
  if (dtype == DType::kBool) return {0, 1, true, 0, false};
  if (!IsInteger(dtype) || IsOpaque(dtype)) {
    span.minus_zero = true;
    return span;
  }
  const int bits = static_cast<int>(BitsOf(dtype));
  span.exact = true;
  span.low = IsUnsigned(dtype) ? 0 : -std::ldexp(1.0, bits - 1);
  // The largest number of 64 bits is no double; 2^63 is above it.
  const double end = std::ldexp(1.0, IsUnsigned(dtype) ? bits : bits - 1);
  span.high = bits > 53 ? end : end - 1;
  return span;
}

Span Hull(const Span& a, const Span& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.exact && b.exact,
          std::max(a.unit, b.unit), a.minus_zero || b.minus_zero};
}

Span Plus(const Span& a, const Span& b) {
  Span sum = {a.low + b.low, a.high + b.high, a.exact && b.exact, std::max(a.unit, b.unit), false};
  if (std::isnan(sum.low)) sum.low = -kInfinity;
  if (std::isnan(sum.high)) sum.high = kInfinity;
  Widen(&sum);
  return sum;
}

Span Times(const Span& a, const Span& b) {
  const double ends[] = {Product(a.low, b.low), Product(a.low, b.high), Product(a.high, b.low),
                         Product(a.high, b.high)};
  Span product;
  product.low = *std::min_element(ends, ends + 4);
  product.high = *std::max_element(ends, ends + 4);
  product.unit = a.unit + b.unit;
  product.exact = a.exact && b.exact && product.unit <= kMaxUnit;
  Widen(&product);
  return product;
}

bool ProductMayBeMinusZero(const Span& a, const Span& b) {
  // +0 times a negative number, or -0 times a positive one.
  auto may_be = [](const Span& zero, const Span& other) {
    return (MayBeZero(zero) && MayBeNegative(other)) || (zero.minus_zero && other.high >= 0);
  };
  return may_be(a, b) || may_be(b, a);
}

}  // namespace lemma::prover
