#include "graph/expr/field.h"

#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

constexpr int64_t kSmall = int64_t{1} << 40;

uint64_t Mix(uint64_t a, uint64_t b) {
  unsigned __int128 product =
      static_cast<unsigned __int128>(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
  uint64_t folded = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  folded ^= folded >> 32;
  folded *= 0xbf58476d1ce4e5b9u;
  return folded ^ (folded >> 29);
}

// A pseudo-random element that depends on fn and both arguments.
Field Oracle(ScalarFn fn, Field a, Field b = Field()) {
  uint64_t h = Mix(static_cast<uint64_t>(fn) + 0x2545f4914f6cdd1du, a.raw());
  h = Mix(h + 0x632be59bd9b4e019u, b.raw());
  h &= Field::kPrime;
  return Field::FromRaw(h == Field::kPrime ? 0 : h);
}

// The same, restricted to (0, p/2).
Field PositiveOracle(ScalarFn fn, Field a) {
  return Field::FromRaw((Oracle(fn, a).raw() >> 1) | 1);
}

// The same, restricted to |x| < kSmall, on which rounding is the identity.
Field SmallOracle(ScalarFn fn, Field a, Field b = Field()) {
  return Field(static_cast<int64_t>(Oracle(fn, a, b).raw() & (kSmall - 1)));
}

bool IsSmall(Field a) {
  int64_t v = a.Signed();
  return -kSmall < v && v < kSmall;
}

Field Boolean(bool value) { return Field(value ? 1 : 0); }

Field Power(Field base, uint64_t exponent) {
  Field result(1);
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = result * base;
    base = base * base;
  }
  return result;
}

Field FieldPower(Field a, Field b) {
  constexpr int64_t kMaxExponent = 4096;
  const Field one(1);
  if (a == one && !b.is_special()) return one;
  int64_t n = b.Signed();
  if (n == 0) return one;
  if (!a.is_special() && -kMaxExponent <= n && n <= kMaxExponent) {
    if (n > 0) return Power(a, n);
    if (a != Field()) return Power(a.Inverse(), -n);
  }
  if (b == Field(2).Inverse()) return ApplyField(ScalarFn::kSqrt, a);
  return Oracle(ScalarFn::kPow, a, b);
}

Field Rounding(ScalarFn fn, Field a) {
  if (a.is_special() || IsSmall(a)) return a;
  if (fn == ScalarFn::kCeil) return -Rounding(ScalarFn::kFloor, -a);
  if (fn != ScalarFn::kFloor && a.Signed() < 0) return -SmallOracle(fn, -a);
  return SmallOracle(fn, a);
}

Field FieldRemainder(ScalarFn fn, Field a, Field b) {
  if (!IsSmall(a) || !IsSmall(b) || b == Field()) return SmallOracle(fn, a, b);
  int64_t divisor = b.Signed();
  int64_t r = a.Signed() % divisor;
  if (fn == ScalarFn::kMod && r != 0 && (r < 0) != (divisor < 0)) r += divisor;
  return Field(r);
}

// Functions with f(-x) = -f(x).
Field Odd(ScalarFn fn, Field a) {
  if (a.is_nan() || a == Field()) return a;
  bool negative = a.Signed() < 0;
  Field magnitude = negative ? -a : a;
  Field value = Oracle(fn, magnitude);
  if (magnitude == Field::Infinity()) {
    if (fn == ScalarFn::kTanh || fn == ScalarFn::kErf) value = Field(1);
    if (fn == ScalarFn::kSinh || fn == ScalarFn::kAsinh) value = magnitude;
  }
  return negative ? -value : value;
}

Field Exponential(Field a) {
  if (a == Field()) return Field(1);
  if (a.is_nan() || a == Field::Infinity()) return a;
  if (a == Field::NegativeInfinity()) return Field();
  return PositiveOracle(ScalarFn::kExp, a);
}

Field Logarithm(Field a) {
  if (a == Field(1)) return Field();
  if (a == Field()) return Field::NegativeInfinity();
  if (a.is_nan() || a == Field::Infinity()) return a;
  return Oracle(ScalarFn::kLog, a);
}

Field Root(Field a) {
  if (a == Field() || a == Field(1) || a.is_nan() || a == Field::Infinity()) return a;
  return PositiveOracle(ScalarFn::kSqrt, a);
}

Field Even(ScalarFn fn, Field a) {
  if (a == Field()) return Field(1);
  if (a.is_nan()) return a;
  Field magnitude = a.Signed() < 0 ? -a : a;
  return fn == ScalarFn::kCosh ? PositiveOracle(fn, magnitude) : Oracle(fn, magnitude);
}

Field Least(Field a, Field b) {
  if (a.is_nan() || b.is_nan()) return Field::NaN();
  return b.Signed() < a.Signed() ? b : a;
}

Field Greatest(Field a, Field b) {
  if (a.is_nan() || b.is_nan()) return Field::NaN();
  return b.Signed() > a.Signed() ? b : a;
}

Field Sign(Field a) {
  if (a.is_nan()) return a;
  return Field(a.Signed() > 0 ? 1 : a.Signed() < 0 ? -1 : 0);
}

}  // namespace

Field Field::FromDouble(double value) {
  if (std::isnan(value)) return NaN();
  if (std::isinf(value)) return value > 0 ? Infinity() : NegativeInfinity();
  int exponent;
  double fraction = std::frexp(value, &exponent);
  Field mantissa(static_cast<int64_t>(std::ldexp(fraction, 53)));
  // 2^61 = 1, so exponents count modulo 61.
  int shift = (exponent - 53) % 61;
  if (shift < 0) shift += 61;
  return mantissa * FromRaw(uint64_t{1} << shift);
}

// By the power p - 2 = 4 (2^59 - 1) + 1. If n and k are powers x^(2^a - 1) and x^(2^b - 1), their
// join is x^(2^(a + b) - 1).
Field Field::Inverse() const {
  const auto join = [](Field n, Field k, int b) {
    for (int i = 0; i < b; ++i) n = n * n;
    return n * k;
  };
  const Field x = *this, x2 = join(x, x, 1), x4 = join(x2, x2, 2), x8 = join(x4, x4, 4);
  const Field x16 = join(x8, x8, 8), x32 = join(x16, x16, 16);
  const Field x59 = join(join(join(join(x32, x16, 16), x8, 8), x2, 2), x, 1);
  return join(x59, x, 2);
}

Field operator/(Field a, Field b) {
  if (b == Field(1)) return a;
  if (!a.is_special() && !b.is_special() && b != Field()) return a * b.Inverse();
  if (a.is_nan() || b.is_nan()) return Field::NaN();
  if (b.is_special() && !a.is_special()) return Field();
  return Oracle(ScalarFn::kDiv, a, b);
}

Field Field::AddSpecial(Field a, Field b) {
  if (a.is_nan() || b.is_nan()) return NaN();
  if (a.is_special() && b.is_special()) return a == b ? a : NaN();
  return a.is_special() ? a : b;
}

Field Field::MulSpecial(Field a, Field b) {
  if (a.is_nan() || b.is_nan()) return NaN();
  if (a.raw_ > b.raw_) std::swap(a, b);
  if (b.is_special() && a == Field(1)) return b;
  if (b.is_special() && a == Field(-1)) return -b;
  return Oracle(ScalarFn::kMul, a, b);
}

std::string Field::ToString() const {
  if (is_nan()) return "nan";
  if (is_special()) return *this == Infinity() ? "inf" : "-inf";
  return absl::StrCat(Signed());
}

Field ApplyField(ScalarFn fn, Field a, Field b, Field c) {
  switch (fn) {
#define LEMMA_FN(id, name, arity, traits, real, integer, field, gradient) \
  case ScalarFn::id:                                                      \
    return field;
#define LEMMA_REAL_FN(id, name, arity, traits, real, field, gradient) \
  case ScalarFn::id:                                                  \
    return field;
#define LEMMA_STORED_FN(id, name, traits, dtype) \
  case ScalarFn::id:                             \
    return Oracle(fn, a);
#include "graph/expr/scalar_functions.inc"
  }
  return Field();
}

}  // namespace lemma
