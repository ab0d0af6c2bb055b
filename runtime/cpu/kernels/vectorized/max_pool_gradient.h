// Computes the gradient of maximum pooling over channels-last images.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_MAX_POOL_GRADIENT_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_MAX_POOL_GRADIENT_H_

#include <cstdint>

namespace lemma::kernels {

// [0]: vertical (rows), [1]: horizontal (columns). `windows`: the number of windows.
struct PoolSizes {
  int64_t image[2], windows[2], kernel[2], strides[2], dilations[2];
  int64_t pad[2];  // before the first row and column
};

// dx[h,w,c] = sum of dy[p,q,c] over the windows [p,q] whose first maximum is x[h,w,c], for one
// image. The first NaN of a window is its maximum. `scratch`: 2 * channels floats. Each window must
// overlap the image.
void MaxPoolGradient(const float* x, const float* dy, int64_t channels, const PoolSizes& sizes,
                     float* dx, float* scratch);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_MAX_POOL_GRADIENT_H_
