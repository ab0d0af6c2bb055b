// Computes the mean of the rows of a matrix: one number per column.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_MEAN_OF_ROWS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_MEAN_OF_ROWS_H_

#include <cstdint>

namespace lemma::kernels {

// y[j] = sum(i < rows) x[i * step + j] / rows for j < columns. Sums 64 rows at a time and then adds
// these sums, so that the error grows with 64 + rows / 64 instead of `rows`.
void MeanOfRows(const float* x, int64_t rows, int64_t columns, int64_t step, float* y);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_MEAN_OF_ROWS_H_
