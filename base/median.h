// When repeated measurements are enough to know their median.
#ifndef LEMMA_BASE_MEDIAN_H_
#define LEMMA_BASE_MEDIAN_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lemma {

// Whether at least five positive values say, with a confidence of 0.92 or more, that the median of
// their distribution lies in an interval of `width` times their own median that contains that one.
// Nothing is assumed about the distribution: the k-th smallest and the k-th largest of n
// independent values bound its median with a confidence that depends on k and n alone.
inline bool MedianIsKnown(std::vector<double> values, double width) {
  const size_t n = values.size(), k = n >= 11 ? 2 : n >= 8 ? 1 : 0;
  if (n < 5) return false;
  std::sort(values.begin(), values.end());
  return values[n - 1 - k] - values[k] <= width * values[n / 2];
}

}  // namespace lemma

#endif  // LEMMA_BASE_MEDIAN_H_
