#include "api/quantization/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lemma::api {
namespace {

constexpr int kBins = ValueHistogram::kBins;
constexpr int kRanges = 100;  // that kMse and kEntropy try

struct MethodName {
  const char* name;
  RangeMethod method;
};
constexpr MethodName kMethods[] = {{"minmax", RangeMethod::kMinMax},
                                   {"percentile", RangeMethod::kPercentile},
                                   {"mse", RangeMethod::kMse},
                                   {"entropy", RangeMethod::kEntropy}};

std::pair<double, double> Percentile(const ValueHistogram& h, double percentile) {
  const double outside = (1 - percentile / 100) / 2 * static_cast<double>(h.total);
  int first = 0, last = kBins - 1;
  double below = 0, above = 0;
  while (first < last && below + static_cast<double>(h.counts[first]) <= outside) {
    below += static_cast<double>(h.counts[first++]);
  }
  while (last > first && above + static_cast<double>(h.counts[last]) <= outside) {
    above += static_cast<double>(h.counts[last--]);
  }
  return {std::min(0.0, h.low + first * h.width()), std::max(0.0, h.low + (last + 1) * h.width())};
}

// The distance of two adjacent numbers for which integers stand.
double StepOf(double low, double high, bool symmetric) {
  return symmetric ? std::max(-low, high) / 127 : (high - low) / 255;
}

// The expected square of the error if integers stand for [low, high]. Inside, the error is uniform
// within half a step.
double SquaredError(const ValueHistogram& h, double low, double high, bool symmetric) {
  const double step = StepOf(low, high, symmetric);
  if (symmetric) high = std::max(-low, high), low = -high;
  double sum = 0;
  for (int bin = 0; bin < kBins; ++bin) {
    if (h.counts[bin] == 0) continue;
    const double x = h.middle(bin);
    const double clipped = x < low ? low - x : x > high ? x - high : 0;
    const double rounding = clipped == 0 ? step * step / 12 : 0;
    sum += static_cast<double>(h.counts[bin]) * (clipped * clipped + rounding);
  }
  return sum;
}

// The divergence of the histogram's part in [low, high], with the rest added to its ends, from the
// same part in the steps of the integers.
double Divergence(const ValueHistogram& h, double low, double high, bool symmetric) {
  const int steps = static_cast<int>(std::lround((high - low) / StepOf(low, high, symmetric)));
  const int first = std::clamp(static_cast<int>((low - h.low) / h.width() + 0.5), 0, kBins - 1);
  const int last = std::clamp(static_cast<int>((high - h.low) / h.width() + 0.5), first + 1, kBins);
  const int bins = last - first;
  if (bins < steps) return std::numeric_limits<double>::infinity();
  std::vector<double> p(h.counts.begin() + first, h.counts.begin() + last), q(bins);
  for (int step = 0; step < steps; ++step) {
    const int from = step * bins / steps, to = (step + 1) * bins / steps;
    double sum = 0;
    int filled = 0;
    for (int i = from; i < to; ++i) {
      sum += p[i];
      filled += p[i] > 0 ? 1 : 0;
    }
    for (int i = from; i < to; ++i) q[i] = p[i] > 0 ? sum / filled : 0;
  }
  for (int i = 0; i < first; ++i) p.front() += static_cast<double>(h.counts[i]);
  for (int i = last; i < kBins; ++i) p.back() += static_cast<double>(h.counts[i]);
  double p_sum = 0, q_sum = 0, divergence = 0;
  for (int i = 0; i < bins; ++i) p_sum += p[i], q_sum += q[i];
  if (q_sum == 0) return std::numeric_limits<double>::infinity();
  // Where only p has values, q counts as the least probability.
  const double least = 1e-9;
  for (int i = 0; i < bins; ++i) {
    if (p[i] == 0) continue;
    divergence += p[i] / p_sum * std::log(p[i] / p_sum / std::max(least, q[i] / q_sum));
  }
  return divergence;
}

template <class Loss>
std::pair<double, double> LeastLoss(const ValueHistogram& h, const Loss& loss) {
  const double most = std::max(-h.low, h.high);
  std::pair<double, double> best = {h.low, h.high};
  double least = loss(h.low, h.high);
  for (int i = 1; i < kRanges; ++i) {
    const double limit = most * (1 - static_cast<double>(i) / kRanges);
    const double low = std::max(h.low, -limit), high = std::min(h.high, limit);
    const double here = loss(low, high);
    if (here < least) least = here, best = {low, high};
  }
  return best;
}

}  // namespace

std::optional<RangeMethod> ParseRangeMethod(const std::string& name) {
  for (const MethodName& method : kMethods) {
    if (name == method.name) return method.method;
  }
  return std::nullopt;
}

std::vector<std::string> RangeMethodNames() {
  std::vector<std::string> names;
  for (const MethodName& method : kMethods) names.emplace_back(method.name);
  return names;
}

void ValueHistogram::Widen(const Tensor& tensor) {
  for (const float x : tensor.data<float>()) {
    if (!seen) least = most = x;
    seen = true;
    least = std::min(least, static_cast<double>(x));
    most = std::max(most, static_cast<double>(x));
  }
  low = std::min(low, least);
  high = std::max(high, most);
}

void ValueHistogram::Count(const Tensor& tensor) {
  counts.resize(kBins);
  const double scale = high > low ? kBins / (high - low) : 0;
  for (const float x : tensor.data<float>()) {
    ++counts[std::clamp(static_cast<int>((x - low) * scale), 0, kBins - 1)];
  }
  total += tensor.size();
}

std::pair<double, double> ChooseRange(const ValueHistogram& h, const RangeOptions& options) {
  if (h.total == 0 || h.high <= h.low) return {h.low, h.high};
  switch (options.method) {
    case RangeMethod::kMinMax:
      break;
    case RangeMethod::kPercentile:
      return Percentile(h, options.percentile);
    case RangeMethod::kMse:
      return LeastLoss(h, [&](double low, double high) {
        return SquaredError(h, low, high, options.symmetric);
      });
    case RangeMethod::kEntropy: {
      // Zeros, such as relu's, are represented exactly: their number says nothing of the range.
      ValueHistogram others = h;
      const int zero = std::clamp(static_cast<int>(-h.low / h.width()), 0, kBins - 1);
      others.counts[zero] = h.counts[zero + 1 < kBins ? zero + 1 : zero - 1];
      return LeastLoss(h, [&](double low, double high) {
        return Divergence(others, low, high, options.symmetric);
      });
    }
  }
  return {h.low, h.high};
}

}  // namespace lemma::api
