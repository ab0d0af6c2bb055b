#include "optimizer/cost/objective.h"

#include <algorithm>
#include <cmath>

namespace lemma::optimizer {
namespace {

constexpr double kUnit = 1e9;  // the product of the reference, in the unit of products

double Ratio(int64_t value, int64_t reference) {
  return static_cast<double>(std::max<int64_t>(value, 1)) /
         static_cast<double>(std::max<int64_t>(reference, 1));
}

}  // namespace

Objective Objective::Deciding() const {
  Objective deciding = *this;
  if (goal == Goal::kPareto) deciding.goal = memory_limit > 0 ? Goal::kTime : Goal::kProduct;
  return deciding;
}

Rank Objective::RankOf(const Cost& cost, int ops) const {
  Rank rank{0, cost.ns(), cost.ns(), ops, cost.peak_bytes()};
  if (memory_limit > 0) rank.over = std::max<int64_t>(0, cost.peak_bytes() - memory_limit);
  if (cost.is_infinite()) return rank;
  if (goal == Goal::kMemory) rank.value = cost.peak_bytes();
  if (goal == Goal::kProduct) {
    const double product =
        std::pow(Ratio(cost.ns(), reference.ns()), 1 - memory_weight) *
        std::pow(Ratio(cost.peak_bytes(), reference.peak_bytes()), memory_weight);
    rank.value = std::llround(std::min(product * kUnit, 9e18));
  }
  return rank;
}

}  // namespace lemma::optimizer
