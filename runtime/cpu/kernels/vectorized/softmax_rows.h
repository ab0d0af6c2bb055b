// Softmax of rows, with instructions of AVX-512.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_SOFTMAX_ROWS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_SOFTMAX_ROWS_H_

#include <cstdint>

namespace lemma::kernels {

// The least number of columns for the functions below. For shorter rows, oneDNN is faster.
constexpr int64_t kLeastSoftmaxColumns = 16;

// Whether the processor has the instructions that SoftmaxRows needs.
bool HasSoftmaxRows();

// y = exp(x - greatest) / total in each row, where `greatest` is the row's greatest element and
// `total` is the sum of exp(x - greatest) over the row. Rows are contiguous and follow each other;
// y may be x. `columns` must be at least kLeastSoftmaxColumns. Exponentials have a relative error
// of about 2^-22. As the definition of softmax says, a row becomes NaN if it contains a NaN or
// +infinity, or nothing but -infinity.
void SoftmaxRows(const float* x, int64_t rows, int64_t columns, float* y);

// As SoftmaxRows, for one row x + addend; the sums are rounded to f32. y may be x, but not addend.
// Meanwhile, the rows `next_x` and `next_addend` are fetched into the caches. They should be the
// rows of the next call, and may be any other rows of `columns` columns.
void SoftmaxOfSumRow(const float* x, const float* addend, int64_t columns, float* y,
                     const float* next_x, const float* next_addend);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_VECTORIZED_SOFTMAX_ROWS_H_
