#include "runtime/cpu/kernels/vectorized/weighted_rows.h"

#include <algorithm>

namespace lemma::kernels {

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
void WeightedRows(const float* x, const int64_t* starts, const float* weights, int64_t taps,
                  int64_t rows, int64_t columns, float* y, int64_t step) {
  if (columns == 1 && step == 1 && taps == 2) {
    for (int64_t i = 0; i < rows; ++i) {
      y[i] = weights[2 * i] * x[starts[2 * i]] + weights[2 * i + 1] * x[starts[2 * i + 1]];
    }
    return;
  }
  for (int64_t i = 0; i < rows; ++i, starts += taps, weights += taps, y += step) {
    if (taps == 2) {
      const float *a = x + starts[0], *b = x + starts[1];
      const float u = weights[0], v = weights[1];
      for (int64_t j = 0; j < columns; ++j) y[j] = u * a[j] + v * b[j];
      continue;
    }
    constexpr int64_t kWidth = 64;
    for (int64_t first = 0; first < columns; first += kWidth) {
      const int64_t width = std::min(kWidth, columns - first);
      float sum[kWidth] = {};
      for (int64_t k = 0; k < taps; ++k) {
        const float* a = x + starts[k] + first;
        const float u = weights[k];
        for (int64_t j = 0; j < width; ++j) sum[j] += u * a[j];
      }
      std::copy(sum, sum + width, y + first);
    }
  }
}

}  // namespace lemma::kernels
