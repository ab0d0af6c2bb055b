// Computes weighted sums of rows, such as in interpolation.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_WEIGHTED_ROWS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_WEIGHTED_ROWS_H_

#include <cstdint>

namespace lemma::kernels {

// y[i * step + j] = sum(k < taps) weights[i * taps + k] * x[starts[i * taps + k] + j] for
// i < rows, j < columns. `starts` and `step` count floats.
void WeightedRows(const float* x, const int64_t* starts, const float* weights, int64_t taps,
                  int64_t rows, int64_t columns, float* y, int64_t step);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_WEIGHTED_ROWS_H_
