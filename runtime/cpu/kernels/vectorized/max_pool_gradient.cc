#include "runtime/cpu/kernels/vectorized/max_pool_gradient.h"

#include <cstring>

namespace lemma::kernels {
namespace {

int64_t PixelOf(const PoolSizes& s, int64_t p, int64_t q, int64_t r, int64_t k) {
  const int64_t row = p * s.strides[0] + r * s.dilations[0] - s.pad[0];
  const int64_t column = q * s.strides[1] + k * s.dilations[1] - s.pad[1];
  const bool inside = row >= 0 && row < s.image[0] && column >= 0 && column < s.image[1];
  return inside ? row * s.image[1] + column : -1;
}

}  // namespace

__attribute__((target_clones("avx512f", "avx2", "default")))  // one of them runs
void MaxPoolGradient(const float* x, const float* dy, int64_t channels, const PoolSizes& s,
                     float* dx, float* scratch) {
  float* const best = scratch;
  float* const number = scratch + channels;  // the number of the best, exact as a float
  std::memset(dx, 0, static_cast<size_t>(s.image[0] * s.image[1] * channels) * sizeof(float));
  for (int64_t p = 0; p < s.windows[0]; ++p) {
    for (int64_t q = 0; q < s.windows[1]; ++q) {
      bool first = true;
      for (int64_t r = 0; r < s.kernel[0]; ++r) {
        for (int64_t k = 0; k < s.kernel[1]; ++k) {
          const int64_t pixel = PixelOf(s, p, q, r, k);
          if (pixel < 0) continue;
          const float* const from = x + pixel * channels;
          const auto here = static_cast<float>(r * s.kernel[1] + k);
          if (first) {
#pragma GCC ivdep
            for (int64_t c = 0; c < channels; ++c) {
              best[c] = from[c];
              number[c] = here;
            }
            first = false;
            continue;
          }
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) {
            // The first NaN in a window is its maximum.
            const bool more = best[c] == best[c] && !(from[c] <= best[c]);
            best[c] = more ? from[c] : best[c];
            number[c] = more ? here : number[c];
          }
        }
      }
      const float* const gradient = dy + (p * s.windows[1] + q) * channels;
      for (int64_t r = 0; r < s.kernel[0]; ++r) {
        for (int64_t k = 0; k < s.kernel[1]; ++k) {
          const int64_t pixel = PixelOf(s, p, q, r, k);
          if (pixel < 0) continue;
          float* const to = dx + pixel * channels;
          const auto here = static_cast<float>(r * s.kernel[1] + k);
#pragma GCC ivdep
          for (int64_t c = 0; c < channels; ++c) to[c] += number[c] == here ? gradient[c] : 0.0f;
        }
      }
    }
  }
}

}  // namespace lemma::kernels
