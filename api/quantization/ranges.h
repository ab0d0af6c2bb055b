// Chooses the range of floats that the integers of a value stand for, from a histogram of it.
#ifndef LEMMA_API_QUANTIZATION_RANGES_H_
#define LEMMA_API_QUANTIZATION_RANGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor.h"

namespace lemma::api {

// The values of a tensor over all calibration samples: first its extremes, then how often it lies
// in each of kBins parts of equal width of [low, high].
struct ValueHistogram {
  static constexpr int kBins = 2048;

  bool seen = false;
  double low = 0, high = 0;     // extremes; low <= 0 <= high
  double least = 0, most = 0;   // the extremes without 0
  std::vector<int64_t> counts;  // kBins of them, once CountIn was called
  int64_t total = 0;

  // Widens the extremes. The tensor must be finite.
  void Widen(const Tensor& tensor);
  void Count(const Tensor& tensor);
  double width() const { return (high - low) / kBins; }
  double middle(int bin) const { return low + (bin + 0.5) * width(); }
};

enum class RangeMethod { kMinMax, kPercentile, kMse, kEntropy };
std::optional<RangeMethod> ParseRangeMethod(const std::string& name);
std::vector<std::string> RangeMethodNames();

struct RangeOptions {
  RangeMethod method = RangeMethod::kMinMax;
  double percentile = 99.99;  // of the values, lie in the range; for kPercentile
  bool symmetric = false;     // the integers' range is symmetric
};

// The range, which holds 0.
//   kMinMax      all values;
//   kPercentile  leaves out half of the rest on each side;
//   kMse         of 100 ranges that shrink towards 0, the one with the least expected square of
//                the error, by rounding inside and by clipping outside;
//   kEntropy     the range whose 128 steps lose the least information (Kullback-Leibler divergence
//                from the histogram), as Migacz 2017 does for one side; zeros do not count.
std::pair<double, double> ChooseRange(const ValueHistogram& histogram, const RangeOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_RANGES_H_
