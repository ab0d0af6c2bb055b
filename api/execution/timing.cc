#include "api/execution/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "base/stopwatch.h"

namespace lemma::api {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLeastRounds = 3;  // whatever time they take

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<double> Ratios(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) ratios.push_back(b[i] / a[i]);
  return ratios;
}

// The medians of up to `runs` runs, executed in turn. Run number `run` begins only if goes_on(run).
absl::StatusOr<std::vector<std::vector<KernelTiming>>> ProfileWhile(
    absl::FunctionRef<bool(int)> goes_on, absl::Span<Executable* const> candidates,
    absl::Span<const Tensor> inputs, int runs) {
  std::vector<std::vector<KernelTiming>> rows(candidates.size());
  std::vector<std::vector<std::vector<double>>> ms(candidates.size());
  for (int run = 0; run < runs; ++run) {
    if (!goes_on(run)) break;
    for (size_t i = 0; i < candidates.size(); ++i) {
      auto outputs = candidates[i]->RunTimed(inputs, &rows[i]);
      if (!outputs.ok()) return outputs.status();
      ms[i].resize(rows[i].size());
      for (size_t k = 0; k < rows[i].size(); ++k) ms[i][k].push_back(rows[i][k].ms);
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t k = 0; k < rows[i].size(); ++k) rows[i][k].ms = Median(ms[i][k]);
  }
  return rows;
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
                                             absl::Span<const Tensor> inputs, int runs,
                                             int threads) {
  std::vector<double> ms;
  for (int i = 0; i < runs; ++i) {
    const Stopwatch stopwatch(threads);
    auto outputs = executable->Run(inputs);
    ms.push_back(stopwatch.Ms());
    if (!outputs.ok()) return outputs.status();
  }
  return ms;
}

absl::StatusOr<std::vector<std::vector<KernelTiming>>> ProfileAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds) {
  const auto start = Clock::now();
  return ProfileWhile(
      [&](int run) { return run < kLeastRounds || SecondsSince(start) <= max_seconds; }, candidates,
      inputs, runs);
}

absl::StatusOr<std::vector<KernelTiming>> ProfileRuns(Executable* executable,
                                                      absl::Span<const Tensor> inputs, int runs,
                                                      const Deadline& deadline) {
  auto profiles = ProfileWhile([&](int run) { return run == 0 || !deadline.Passed(); },
                               {executable}, inputs, runs);
  if (!profiles.ok()) return profiles.status();
  return std::move(profiles->front());
}

optimizer::KernelTimes TimesBySignature(absl::Span<const std::vector<KernelTiming>> profiles) {
  std::map<std::string, std::vector<double>> ms;
  for (const std::vector<KernelTiming>& rows : profiles) {
    for (const KernelTiming& row : rows) {
      if (!row.signature.empty()) ms[row.signature].push_back(row.ms);
    }
  }
  optimizer::KernelTimes means;
  for (const auto& [signature, times] : ms) {
    means.emplace_back(signature, std::accumulate(times.begin(), times.end(), 0.0) /
                                      static_cast<double>(times.size()));
  }
  return means;
}

absl::StatusOr<std::vector<std::vector<double>>> TimeAlternating(
    absl::Span<Executable* const> candidates, absl::Span<const Tensor> inputs, int runs,
    double max_seconds, int threads) {
  std::vector<std::vector<double>> ms(candidates.size());
  const auto start = Clock::now();
  for (int round = -1; round < runs; ++round) {
    if (round >= kLeastRounds && SecondsSince(start) > max_seconds) break;
    for (size_t i = 0; i < candidates.size(); ++i) {
      auto once = TimeRuns(candidates[i], inputs, 1, threads);
      if (!once.ok()) return once.status();
      if (round >= 0) ms[i].push_back(once->front());
    }
  }
  return ms;
}

RatioInterval PairedRatio(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> ratios = Ratios(a, b);
  std::sort(ratios.begin(), ratios.end());
  // The number of ratios below the true median is binomial(n, 1/2). Leaves out as many at either
  // end as are outside with probability below 2.5 %.
  const size_t n = ratios.size();
  const auto probability = [n](size_t k) {
    const auto all = static_cast<double>(n), some = static_cast<double>(k);
    // By logarithms, since 0.5^n is 0 for large n.
    return std::exp(std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1) -
                    all * std::log(2.0));
  };
  size_t outside = 0;
  double tail = probability(0);
  while (outside + 1 < (n + 1) / 2) {
    tail += probability(outside + 1);
    if (tail > 0.025) break;
    ++outside;
  }
  return {ratios[outside], Median(ratios), ratios[n - 1 - outside]};
}

}  // namespace lemma::api
