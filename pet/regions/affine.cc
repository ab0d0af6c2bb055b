#include "pet/regions/affine.h"

#include <algorithm>
#include <numeric>

namespace lemma::pet {
namespace {

int64_t FloorOf(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

}  // namespace

Affine PositionsOf(const Range& range, int var) {
  if (range.count == 1) return Affine::Of(range.start);
  return Sum(Affine::Of(range.start), Affine::OfVar(var), range.step);
}

std::vector<Range> Cut::Pieces(const Range& range) const {
  if (modulus == 0) return {range.Part(0, at), range.Part(at, range.count - at)};
  std::vector<Range> pieces;
  for (int64_t r = 0; r < modulus; ++r) pieces.push_back(range.Residue(r, modulus));
  return pieces;
}

Interval AffineScope::Bounds(const Affine& f) const {
  Interval bounds = {f.base, f.base};
  for (const auto& [var, coefficient] : f.terms) {
    (coefficient < 0 ? bounds.lo : bounds.hi) += coefficient * (extents_[var] - 1);
  }
  return bounds;
}

std::pair<int, int64_t> AffineScope::Shortest(const Affine& f) const {
  return *std::min_element(f.terms.begin(), f.terms.end(), [&](const auto& a, const auto& b) {
    return extents_[a.first] < extents_[b.first];
  });
}

std::optional<bool> AffineScope::IsNonNegative(const Affine& f, Cut* cut) const {
  const Interval all = Bounds(f);
  if (all.lo >= 0) return true;
  if (all.hi < 0) return false;
  const auto [var, a] = Shortest(f);
  const int64_t n = extents_[var];
  Affine rest = f;
  rest.terms.erase(std::find(rest.terms.begin(), rest.terms.end(), std::pair(var, a)));
  const Interval others = Bounds(rest);
  // Where the variable alone decides: a * x >= -others.lo implies true, a * x < -others.hi false.
  for (const int64_t bound : {-others.lo, -others.hi}) {
    const int64_t at = a > 0 ? -FloorOf(-bound, a) : FloorOf(bound, a) + 1;
    if (0 < at && at < n) {
      *cut = {var, at, 0};
      return std::nullopt;
    }
  }
  *cut = {var, n / 2, 0};
  return std::nullopt;
}

std::optional<bool> AffineScope::IsZero(const Affine& f, Cut* cut) const {
  const Interval all = Bounds(f);
  if (all.lo > 0 || all.hi < 0) return false;
  if (all.lo == all.hi) return true;
  int64_t divisor = 0;
  for (const auto& [var, coefficient] : f.terms) divisor = std::gcd(divisor, coefficient);
  if (f.base % divisor != 0) return false;
  // f is zero where both f >= 0 and -f >= 0.
  if (!IsNonNegative(f, cut)) return std::nullopt;
  if (!IsNonNegative(Sum(Affine(), f, -1), cut)) return std::nullopt;
  return std::nullopt;  // not reached: one of them was undecided, or f is constant
}

std::optional<Affine> AffineScope::Quotient(const Affine& f, int64_t m, Cut* cut) const {
  Affine quotient, rest = Affine::Of(f.base);
  for (const auto& [var, a] : f.terms) {
    if (a / m != 0) quotient.terms.emplace_back(var, a / m);
    if (a % m != 0) rest.terms.emplace_back(var, a % m);
  }
  const Interval bounds = Bounds(rest);
  quotient.base = FloorOf(bounds.lo, m);
  if (quotient.base == FloorOf(bounds.hi, m)) return quotient;
  const auto [var, a] = Shortest(rest);
  const int64_t n = extents_[var];
  const int64_t period = m / std::gcd(m, a);
  const int64_t digits = (n * std::abs(a) + m - 1) / m;
  if (period < n && period <= digits) {
    *cut = {var, 0, period};
    return std::nullopt;
  }
  rest.terms.erase(std::find(rest.terms.begin(), rest.terms.end(), std::pair(var, a)));
  const Interval others = Bounds(rest);
  for (const int64_t base : {others.lo, others.hi}) {
    for (int64_t x = 1; x < n; ++x) {
      if (FloorOf(base + a * x, m) == FloorOf(base, m)) continue;
      *cut = {var, x, 0};
      return std::nullopt;
    }
  }
  *cut = {var, n / 2, 0};
  return std::nullopt;
}

}  // namespace lemma::pet
