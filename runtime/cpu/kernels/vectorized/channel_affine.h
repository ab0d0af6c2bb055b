// Applies a linear function with bounds to each column of a matrix.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_CHANNEL_AFFINE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_CHANNEL_AFFINE_H_

#include <cstdint>

namespace lemma::kernels {

// y[i,j] = min(max(x[i,j] * scale[j] + shift[j], low), high). Rows are x_step and y_step floats
// apart. NaN stays NaN. y may be x if y_step is x_step; otherwise x and y must not overlap.
void ChannelAffine(const float* x, int64_t x_step, const float* scale, const float* shift,
                   float low, float high, int64_t rows, int64_t columns, float* y, int64_t y_step);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_CHANNEL_AFFINE_H_
