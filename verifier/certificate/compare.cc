#include "verifier/certificate/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/status_macros.h"
#include "graph/expr/field.h"

namespace lemma::certificate {
namespace {

// Relative to the largest element. Arithmetic is in double, but the constants of both sides are
// rounded to their types.
double Tolerance(absl::Span<const Value> values) {
  double tolerance = 2e-6;
  for (const Value& v : values) {
    if (v.dtype() == DType::kF16) tolerance = std::max(tolerance, 1e-2);
    if (v.dtype() == DType::kBF16) tolerance = std::max(tolerance, 5e-2);
  }
  return tolerance;
}

bool Near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  double largest = 1;
  for (double x : a) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
    if (std::abs(a[i] - b[i]) > tolerance * largest) return false;
  }
  return true;
}

template <class Number, class Same>
absl::StatusOr<bool> Agree(absl::Span<const Value> a, absl::Span<const Value> b,
                           absl::Span<const Value> free, RandomValues random, Same same) {
  std::vector<Value> wanted(a.begin(), a.end());
  wanted.insert(wanted.end(), b.begin(), b.end());
  auto rows = Evaluate<Number>(wanted, free, random);
  if (absl::IsOutOfRange(rows.status())) {
    random.zeros = true;
    rows = Evaluate<Number>(wanted, free, random);
  }
  if (!rows.ok()) return rows.status();
  for (size_t i = 0; i < a.size(); ++i) {
    if (!same((*rows)[i], (*rows)[a.size() + i])) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<bool> AgreeInField(absl::Span<const Value> a, absl::Span<const Value> b,
                                  absl::Span<const Value> free, RandomValues random) {
  return Agree<Field>(a, b, free, std::move(random),
                      [](const auto& x, const auto& y) { return x == y; });
}

absl::StatusOr<bool> AgreeInDouble(absl::Span<const Value> a, absl::Span<const Value> b,
                                   absl::Span<const Value> free, RandomValues random) {
  auto near = [tolerance = Tolerance(a)](const auto& x, const auto& y) {
    return Near(x, y, tolerance);
  };
  random.positive = true;
  LEMMA_ASSIGN_OR_RETURN(const bool agree, Agree<double>(a, b, free, random, near));
  random.positive = false;
  if (!agree) return false;
  return Agree<double>(a, b, free, random, near);
}

}  // namespace lemma::certificate
