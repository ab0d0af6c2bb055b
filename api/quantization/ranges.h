// Chooses the range of floats for which the integers of a quantized value stand. The choice uses a
// histogram of the value.
#ifndef LEMMA_API_QUANTIZATION_RANGES_H_
#define LEMMA_API_QUANTIZATION_RANGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor.h"

namespace lemma::api {

// The elements of a value over all calibration samples. Widen finds their extremes. Then Count
// counts the elements in each of kBins bins, which are parts of equal width of [low, high].
struct ValueHistogram {
  static constexpr int kBins = 2048;

  bool seen = false;            // Widen was called with an element
  double low = 0, high = 0;     // the least and the greatest number among the elements and 0
  double least = 0, most = 0;   // the least and the greatest element
  std::vector<int64_t> counts;  // kBins numbers; empty before Count
  int64_t total = 0;            // the number of elements counted

  // Widens the extremes. The tensor must be f32 and finite.
  void Widen(const Tensor& tensor);
  // Adds the tensor's elements to the counts. First call Widen with the tensors of all samples;
  // then call Count with each of the same tensors.
  void Count(const Tensor& tensor);
  double width() const { return (high - low) / kBins; }
  double middle(int bin) const { return low + (bin + 0.5) * width(); }
};

enum class RangeMethod { kMinMax, kPercentile, kMse, kEntropy };
// "minmax", "percentile", "mse", "entropy"; nullopt for another name.
std::optional<RangeMethod> ParseRangeMethod(const std::string& name);
std::vector<std::string> RangeMethodNames();

struct RangeOptions {
  RangeMethod method = RangeMethod::kMinMax;
  // For kPercentile: at least this percentage of the elements lies inside the range; in (50, 100].
  double percentile = 99.99;
  // kMse and kEntropy: whether the caller will widen the range to a range that is symmetric around
  // 0. The other methods ignore it.
  bool symmetric = false;
};

// The lower and the upper end of the range, which contains 0. Before Count, and if all elements are
// 0, it is [low, high].
//   kMinMax      contains all elements;
//   kPercentile  leaves out at most (100 - percentile) / 2 percent of the elements on each side;
//                its ends are ends of bins, or 0;
//   kMse         of 100 ranges that shrink toward 0, the range with the least expected square of
//                the error: rounding inside the range, clipping outside;
//   kEntropy     of the same 100 ranges, the range whose 8-bit integers lose the least information
//                (Kullback-Leibler divergence from the histogram), as Migacz ("8-bit Inference with
//                TensorRT", 2017) does for one side. The bin that holds 0 counts as much as the
//                next bin, because 0 is represented exactly, however often it occurs.
std::pair<double, double> ChooseRange(const ValueHistogram& histogram, const RangeOptions& options);

}  // namespace lemma::api

#endif  // LEMMA_API_QUANTIZATION_RANGES_H_
