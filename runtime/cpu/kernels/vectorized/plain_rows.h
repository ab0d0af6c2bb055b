// Checks assumptions that kernels of libraries make about their operands: that elements are not
// NaN, not infinite, or not too large.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_PLAIN_ROWS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_PLAIN_ROWS_H_

#include <cstdint>

namespace lemma::kernels {

// Whether no element is NaN or +infinity, and each row has at least one finite element. Rows are
// contiguous.
bool HasPlainRows(const float* x, int64_t rows, int64_t columns);

// Whether every number is greater than -infinity; false if any is NaN.
bool AllAboveMinusInfinity(const float* x, int64_t count);

// Whether the magnitude of every number is `largest` or less; false if any is NaN.
bool AllWithin(const float* x, int64_t count, float largest);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_PLAIN_ROWS_H_
