#include "verifier/normal_form/path_condition.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace lemma::prover {
namespace {

// The sum c + v, where v is a sum of multiples of unknown integers. The text of v is normalized to
// a positive leading coefficient; `sign` is the original sign.
struct Linear {
  std::string v;
  int64_t sign = 1, c = 0;
};

using Parts = std::map<std::string, int64_t>;  // "" is the constant

// False if a number becomes too large.
bool AddTo(const IndexExpr& e, int64_t factor, Parts* parts) {
  const bool product = e.kind() == IndexExpr::Kind::kMul;
  if (product && (e.lhs().is_const() || e.rhs().is_const())) {
    const bool left = e.lhs().is_const();
    return !__builtin_mul_overflow(factor, (left ? e.lhs() : e.rhs()).value(), &factor) &&
           AddTo(left ? e.rhs() : e.lhs(), factor, parts);
  }
  if (e.kind() == IndexExpr::Kind::kAdd) {
    return AddTo(e.lhs(), factor, parts) && AddTo(e.rhs(), factor, parts);
  }
  if (e.is_const() && __builtin_mul_overflow(factor, e.value(), &factor)) return false;
  int64_t& sum = (*parts)[e.is_const() ? "" : e.ToString()];
  return !__builtin_add_overflow(sum, factor, &sum) && std::abs(sum) < (int64_t{1} << 60);
}

std::optional<Linear> LinearOf(const IndexExpr& e) {
  Parts parts;
  if (!AddTo(e, 1, &parts)) return std::nullopt;
  Linear linear;
  linear.c = parts[""];
  parts.erase("");
  for (const auto& [text, factor] : parts) {
    if (factor == 0) continue;
    if (linear.v.empty()) linear.sign = factor > 0 ? 1 : -1;
    absl::StrAppend(&linear.v, " + ", linear.sign * factor, " * ", text);
  }
  return linear;
}

}  // namespace

std::optional<bool> PathCondition::Decide(const IndexExpr& e, bool equal) const {
  const std::optional<Linear> linear = LinearOf(e);
  if (!linear) return std::nullopt;
  const Linear& l = *linear;
  if (l.v.empty()) return equal ? l.c == 0 : l.c >= 0;
  auto it = ranges_.find(l.v);
  if (it == ranges_.end()) return std::nullopt;
  const Range& r = it->second;
  const int64_t b = -l.sign * l.c;  // v = b; v >= b, or v <= b if the sign is negative
  if (equal) {
    if (b < r.low || b > r.high || r.holes.count(b) > 0) return false;
    if (r.low == r.high) return true;
  } else if (l.sign > 0 ? r.low >= b : r.high <= b) {
    return true;
  } else if (l.sign > 0 ? r.high < b : r.low > b) {
    return false;
  }
  return std::nullopt;
}

PathCondition PathCondition::With(const IndexExpr& e, bool equal, bool holds) const {
  PathCondition path = *this;
  const std::optional<Linear> linear = LinearOf(e);
  if (!linear) return path;
  const Linear& l = *linear;
  Range& r = path.ranges_[l.v];
  const int64_t b = -l.sign * l.c;
  if (equal && holds) r.low = r.high = b;
  if (equal && !holds) r.holes.insert(b);
  if (!equal && (l.sign > 0) == holds) r.low = std::max(r.low, holds ? b : b + 1);
  if (!equal && (l.sign > 0) != holds) r.high = std::min(r.high, holds ? b : b - 1);
  return path;
}

}  // namespace lemma::prover
