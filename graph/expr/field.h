// The finite field in which fingerprints (values at random inputs) are computed: integers modulo
// p = 2^61 - 1.
//
// If an equation between rational expressions is true for all real inputs, it
// is true in this field too. At random inputs, two different polynomials of
// degree d agree with probability at most d/p. Every function that is not
// rational is a random oracle: a fixed pseudo-random function of its arguments,
// restricted by the laws stated at ApplyField. Equal expressions therefore have
// equal values, unless their equality needs a law that is not stated there.
// Because of a missing law, a true rewrite may be missed, but no false rewrite
// is accepted.
//
// Besides the p elements there are three special ones, +inf, -inf and NaN. With them, masks and the
// maximum over nothing mean the same as for real numbers.
#ifndef LEMMA_GRAPH_EXPR_FIELD_H_
#define LEMMA_GRAPH_EXPR_FIELD_H_

#include <cstdint>
#include <string>

#include "graph/expr/scalar_expr.h"

namespace lemma {

class Field {
 public:
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

  constexpr Field() = default;
  // The residue of an integer.
  explicit constexpr Field(int64_t value) : raw_(Residue(value)) {}
  // Exact: a double is mantissa * 2^exponent. Infinities and NaN become the special elements.
  static Field FromDouble(double value);
  // The element with the given raw(); for random inputs (raw < kPrime).
  static constexpr Field FromRaw(uint64_t raw) {
    Field f;
    f.raw_ = raw;
    return f;
  }
  static constexpr Field Infinity() { return FromRaw(kSpecial); }
  static constexpr Field NegativeInfinity() { return FromRaw(kSpecial | 1); }
  static constexpr Field NaN() { return FromRaw(kSpecial | 2); }

  // In [0, kPrime), or at least 2^63 for special elements. Equal elements have equal raw values.
  constexpr uint64_t raw() const { return raw_; }
  constexpr bool is_special() const { return (raw_ & kSpecial) != 0; }
  constexpr bool is_nan() const { return raw_ == (kSpecial | 2); }
  // The representative in (-p/2, p/2), which orders the elements. +inf (and NaN) give INT64_MAX,
  // -inf gives INT64_MIN.
  constexpr int64_t Signed() const {
    if (is_special()) return (raw_ & 1) ? INT64_MIN : INT64_MAX;
    return raw_ > kPrime / 2 ? static_cast<int64_t>(raw_) - static_cast<int64_t>(kPrime)
                             : static_cast<int64_t>(raw_);
  }
  // The inverse of a non-zero, non-special element.
  Field Inverse() const;

  // NaN propagates. inf - inf = NaN. For x that are not special, inf + x = inf
  // and x / inf = 0. These results are pseudo-random: inf * x unless x is 1 or
  // -1, inf / x unless x is 1, x / 0, inf * inf and inf / inf.
  friend Field operator+(Field a, Field b) {
    if ((a.raw_ | b.raw_) & kSpecial) return AddSpecial(a, b);
    return FromRaw(Once(a.raw_ + b.raw_));
  }
  friend Field operator-(Field a) {
    if (a.raw_ & kSpecial) return a.is_nan() ? a : FromRaw(a.raw_ ^ 1);
    return FromRaw(a.raw_ == 0 ? 0 : kPrime - a.raw_);
  }
  friend Field operator-(Field a, Field b) { return a + (-b); }
  friend Field operator*(Field a, Field b) {
    if ((a.raw_ | b.raw_) & kSpecial) return MulSpecial(a, b);
    return FromRaw(Reduce(static_cast<unsigned __int128>(a.raw_) * b.raw_));
  }
  friend Field operator/(Field a, Field b);
  friend constexpr bool operator==(Field a, Field b) { return a.raw_ == b.raw_; }
  friend constexpr bool operator!=(Field a, Field b) { return a.raw_ != b.raw_; }

  // x mod p, for any x.
  static constexpr uint64_t Reduce(unsigned __int128 x) {
    // x = high * 2^61 + low = high + low (mod p). Done twice, since high can exceed 61 bits.
    unsigned __int128 y = (x & kPrime) + (x >> 61);
    return Once(static_cast<uint64_t>(y & kPrime) + static_cast<uint64_t>(y >> 61));
  }

  // The signed representative, "inf", "-inf" or "nan".
  std::string ToString() const;

 private:
  static constexpr uint64_t kSpecial = uint64_t{1} << 63;

  static constexpr uint64_t Once(uint64_t x) { return x >= kPrime ? x - kPrime : x; }
  static constexpr uint64_t Residue(int64_t value) {
    int64_t r = value % static_cast<int64_t>(kPrime);
    return static_cast<uint64_t>(r < 0 ? r + static_cast<int64_t>(kPrime) : r);
  }
  static Field AddSpecial(Field a, Field b);
  static Field MulSpecial(Field a, Field b);

  uint64_t raw_ = 0;
};

// fn(a, b, c); arguments beyond the function's arity are ignored. The following
// laws hold for all elements x that are not special, unless stated otherwise:
//   * add, sub, mul, div, neg: field arithmetic.
//   * min, max, abs, sign, less, equal, and, or, not, where, is_nan, is_inf: exact, by Signed();
//     infinities included. NaN propagates through min, max, abs and sign; less and equal are 0 if
//     an argument is NaN.
//   * floor, ceil, round, trunc: the identity on |x| < 2^40, idempotent everywhere,
//     ceil(x) = -floor(-x), round and trunc odd. mod and fmod: exact on integers of magnitude below
//     2^40 if b is not 0.
//   * bit_and: commutative, exact on integers of magnitude below 2^40, bit_and(x, x) = x,
//     bit_and(x, 0) = 0.
//   * pow(x, n) = x^n for integers |n| <= 4096, pow(x, 1/2) = sqrt(x), pow(1, x) = 1.
//   * f(-x) = -f(x) for sin, tan, asin, atan, sinh, tanh, asinh, atanh, erf, round_tf32, so
//     f(0) = 0; cos and cosh are even; exp, sqrt (except at 0) and cosh are positive.
//   * exp(0) = cos(0) = cosh(0) = 1, log(1) = acos(1) = acosh(1) = 0, sqrt(0) = 0, sqrt(1) = 1;
//     exp(-inf) = 0, log(0) = -inf, tanh(inf) = erf(inf) = 1,
//     exp(inf) = log(inf) = sqrt(inf) = sinh(inf) = asinh(inf) = inf.
//   * stored_T (rounding to an element type): an oracle without laws.
Field ApplyField(ScalarFn fn, Field a, Field b = Field(), Field c = Field());

}  // namespace lemma

#endif  // LEMMA_GRAPH_EXPR_FIELD_H_
