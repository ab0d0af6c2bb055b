#include "runtime/cpu/kernels/vectorized/plain_rows.h"

namespace lemma::kernels {

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
bool HasPlainRows(const float* x, int64_t rows, int64_t columns) {
  constexpr float kInfinity = __builtin_inff();
  int all_below = 1;  // NaN is not below anything
  for (int64_t i = 0; i < rows; ++i, x += columns) {
    int any_above = 0;
    for (int64_t j = 0; j < columns; ++j) {
      all_below &= x[j] < kInfinity ? 1 : 0;
      any_above |= x[j] > -kInfinity ? 1 : 0;
    }
    all_below &= any_above;
  }
  return all_below != 0;
}

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
bool AllAboveMinusInfinity(const float* x, int64_t count) {
  constexpr float kInfinity = __builtin_inff();
  int all = 1;
  for (int64_t i = 0; i < count; ++i) all &= x[i] > -kInfinity ? 1 : 0;
  return all != 0;
}

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
bool AllWithin(const float* x, int64_t count, float largest) {
  int all = 1;
  for (int64_t i = 0; i < count; ++i) all &= x[i] <= largest && x[i] >= -largest ? 1 : 0;
  return all != 0;
}

}  // namespace lemma::kernels
