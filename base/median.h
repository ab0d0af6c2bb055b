// Decides whether a measurement was repeated often enough to know the median.
#ifndef LEMMA_BASE_MEDIAN_H_
#define LEMMA_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lemma {

// `values` must be positive, and independent samples of one distribution;
// nothing else is assumed about the distribution. If n is 5 or more, n values
// give a confidence interval for the distribution's median, at a level of 0.92
// or more. It goes from the (k+1)-th smallest to the (k+1)-th largest value,
// where k is 0 for n < 8, 1 for n < 11, and 2 otherwise. Returns whether its
// length is at most `width` times the median of `values` (for even n, the upper
// of the two middle values). False for n < 5.
inline bool MedianIsKnown(std::vector<double> values, double width) {
  const size_t n = values.size(), k = n >= 11 ? 2 : n >= 8 ? 1 : 0;
  if (n < 5) return false;
  std::sort(values.begin(), values.end());
  return values[n - 1 - k] - values[k] <= width * values[n / 2];
}

}  // namespace lemma

#endif  // LEMMA_BASE_MEDIAN_H_
