// Softmax of rows, with instructions of AVX-512.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_SOFTMAX_ROWS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_SOFTMAX_ROWS_H_

#include <cstdint>

namespace lemma::kernels {

constexpr int64_t kLeastSoftmaxColumns = 16;

// Whether the processor has the instructions that SoftmaxRows needs.
bool HasSoftmaxRows();

// y = exp(x - greatest) / total in each row, where `greatest` is the row's greatest element and
// `total` the sum of its exponentials. Rows are contiguous and follow each other; y may be x.
// `columns` must be at least kLeastSoftmaxColumns; for shorter rows, the library is faster.
// Exponentials have a relative error of about 2^-22. A row that contains a NaN or +infinity, or
// nothing but -infinity, becomes NaN, as by the definition.
void SoftmaxRows(const float* x, int64_t rows, int64_t columns, float* y);

// As SoftmaxRows, for one row x + addend; the sums are rounded to f32. y may be x, but not addend.
// `next_x` and `next_addend` are fetched into the caches meanwhile: the rows of the next call, or
// any other rows of as many columns.
void SoftmaxOfSumRow(const float* x, const float* addend, int64_t columns, float* y,
                     const float* next_x, const float* next_addend);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_SOFTMAX_ROWS_H_
