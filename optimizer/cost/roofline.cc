#include "optimizer/cost/roofline.h"

#include <algorithm>

namespace lemma::optimizer {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr double kOverheads = 10;

// The rate that one kernel in ten reaches; `otherwise` if there are none.
double TopTenth(std::vector<double> rates, double otherwise) {
  if (rates.empty()) return otherwise;
  auto at = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 10);
  std::nth_element(rates.begin(), at, rates.end(), std::greater<>());
  return *at;
}

}  // namespace

Cost EstimateCost(const Roofline& machine, const Work& work) {
  const double compute = work.flops / machine.flops_per_second;
  const double move = (work.bytes_read + work.bytes_written) / machine.bytes_per_second;
  return Cost::Nanoseconds(machine.overhead_ns + 1e9 * std::max(compute, move));
}

Roofline FitRoofline(const std::vector<CostEntry>& measured) {
  Roofline machine;
  if (measured.empty()) return machine;
  double least_ms = measured.front().cost.median_ms;
  for (const CostEntry& entry : measured) least_ms = std::min(least_ms, entry.cost.median_ms);
  machine.overhead_ns = least_ms * kNsPerMs;
  std::vector<double> flops, bytes;
  for (const CostEntry& entry : measured) {
    const MeasuredCost& cost = entry.cost;
    if (cost.median_ms < kOverheads * least_ms) continue;
    const double seconds = (cost.median_ms - least_ms) / 1e3;
    if (cost.flops > 0) flops.push_back(cost.flops / seconds);
    if (cost.bytes > 0) bytes.push_back(cost.bytes / seconds);
  }
  machine.flops_per_second = TopTenth(std::move(flops), machine.flops_per_second);
  machine.bytes_per_second = TopTenth(std::move(bytes), machine.bytes_per_second);
  return machine;
}

}  // namespace lemma::optimizer
