// Decides whether a measurement was repeated often enough to know the median.
#ifndef LEMMA_BASE_MEDIAN_H_
#define LEMMA_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lemma {

// Whether `values` (positive, independent, of one distribution) give a confidence interval for the
// median of the distribution, at a level of 0.92 or more, that is at most `width` times the median
// of `values` long. False for fewer than five values. Nothing is assumed about the distribution:
// the interval from the k-th smallest to the k-th largest of n values has a level that depends on
// k and n alone.
inline bool MedianIsKnown(std::vector<double> values, double width) {
  const size_t n = values.size(), k = n >= 11 ? 2 : n >= 8 ? 1 : 0;
  if (n < 5) return false;
  std::sort(values.begin(), values.end());
  return values[n - 1 - k] - values[k] <= width * values[n / 2];
}

}  // namespace lemma

#endif  // LEMMA_BASE_MEDIAN_H_
