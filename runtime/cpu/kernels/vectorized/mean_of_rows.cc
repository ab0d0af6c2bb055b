#include "runtime/cpu/kernels/vectorized/mean_of_rows.h"

#include <algorithm>

namespace lemma::kernels {

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
void MeanOfRows(const float* x, int64_t rows, int64_t columns, int64_t step, float* y) {
  constexpr int64_t kWidth = 64, kRows = 64;
  for (int64_t first = 0; first < columns; first += kWidth) {
    const int64_t width = std::min(kWidth, columns - first);
    float total[kWidth] = {};
    for (int64_t begin = 0; begin < rows; begin += kRows) {
      const int64_t end = std::min(rows, begin + kRows);
      float part[kWidth] = {};
      if (width == kWidth) {
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t j = 0; j < kWidth; ++j) part[j] += x[i * step + first + j];
        }
      } else {
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t j = 0; j < width; ++j) part[j] += x[i * step + first + j];
        }
      }
      for (int64_t j = 0; j < kWidth; ++j) total[j] += part[j];
    }
    for (int64_t j = 0; j < width; ++j) y[first + j] = total[j] / static_cast<float>(rows);
  }
}

}  // namespace lemma::kernels
