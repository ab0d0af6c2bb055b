#include "cli/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lemma::cli {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<double> Ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(b[i] / a[i]);
  return ratios;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + middle)) / 2;
}

absl::StatusOr<std::vector<double>> TimeRuns(Executable* executable,
                                             absl::Span<const Tensor> inputs, int runs) {
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    auto outputs = executable->Run(inputs);
    const double seconds = SecondsSince(start);
    if (!outputs.ok()) return outputs.status();
    ms.push_back(seconds * 1e3);
  }
  return ms;
}

absl::StatusOr<std::vector<std::vector<double>>> TimeAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds) {
  std::vector<std::vector<double>> ms(candidates.size());
  const auto start = Clock::now();
  for (int round = -1; round < runs; ++round) {
    if (round >= 3 && SecondsSince(start) > max_seconds) break;
    for (size_t i = 0; i < candidates.size(); ++i) {
      auto once = TimeRuns(candidates[i], inputs, 1);
      if (!once.ok()) return once.status();
      if (round >= 0) ms[i].push_back(once->front());
    }
  }
  return ms;
}

double PairedRatio(const std::vector<double>& a, const std::vector<double>& b) {
  return Median(Ratios(a, b));
}

double RatioNoise(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> deviations = Ratios(a, b);
  if (deviations.empty()) return 0;
  const double middle = Median(deviations);
  for (double& x : deviations) x = std::abs(x - middle);
  const double spread = 1.4826 * Median(deviations);  // the standard deviation, if normal
  return 2 * 1.2533 * spread / std::sqrt(static_cast<double>(deviations.size()));
}

}  // namespace lemma::cli
