#include "runtime/cpu/kernels/vectorized/channel_affine.h"

namespace lemma::kernels {

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
void ChannelAffine(const float* x, int64_t x_step, const float* scale, const float* shift, float low,
                   float high, int64_t rows, int64_t columns, float* y, int64_t y_step) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = x + i * x_step;
    float* to = y + i * y_step;
#pragma GCC ivdep  // y is x or does not overlap it
    for (int64_t j = 0; j < columns; ++j) {
      float v = from[j] * scale[j] + shift[j];
      v = v < low ? low : v;
      to[j] = v > high ? high : v;
    }
  }
}

}  // namespace lemma::kernels
