#include "verifier/referee/evidence/weight_comparison.h"

#include <algorithm>
#include <cmath>

#include "verifier/referee/evidence/error_bounds.h"

namespace lemma::referee {
namespace {

// The half-width of an element's interval. A value that is rounded once, such as a sum of two exact
// numbers, is the nearest number.
double Bound(const BoundedTensor& tensor, size_t i) {
  if (tensor.exact()) return 0;
  const bool once = tensor.roundings[i] <= 1;
  return BoundOf(once ? std::abs(tensor.value[i]) : tensor.magnitude[i], tensor.roundings[i]);
}

}  // namespace

double UlpOf(double x) {
  const double size = std::max(std::abs(x), 0x1p-126);
  return std::ldexp(1.0, std::ilogb(size) - 23);
}
WeightComparison CompareWeights(const Value& after, const std::vector<double>& x,
                                const Value& before, const BoundedTensor& y, double most) {
  WeightComparison result;
  result.relation = {after, before, true, 0, static_cast<int64_t>(x.size())};
  result.unrelated.after = after;
  result.unrelated.nearest = before;
  double largest = 0;
  for (const double v : y.value) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = y.value[i], difference = std::abs(x[i] - v);
    // -0 is another number than 0: x / 0 tells them apart.
    if (difference == 0 && std::signbit(x[i]) == std::signbit(v)) continue;
    const double bound = Bound(y, i);
    result.bounded &= std::isfinite(bound);
    const double allowed = std::min(bound, most * largest);
    if (difference <= allowed && !(difference == 0 && y.exact())) {
      result.relation.exact = false;
      result.relation.ulps = std::max(result.relation.ulps, difference / UlpOf(v));
      continue;
    }
    result.unrelated.elements.push_back(static_cast<int64_t>(i));
    result.unrelated.farthest =
        std::max(result.unrelated.farthest, difference / std::max({bound, UlpOf(v) / 2, 0x1p-126}));
    if (result.unrelated.outside++ > 0) continue;
    result.unrelated.element = static_cast<int64_t>(i);
    result.unrelated.value = x[i];
    result.unrelated.low = v - allowed;
    result.unrelated.high = v + allowed;
  }
  // Even if every element happens to be the nearest number, the value is a computed one.
  result.relation.exact &= y.exact();
  return result;
}

}  // namespace lemma::referee
