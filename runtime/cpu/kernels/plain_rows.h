// What libraries' kernels take for granted of their operands.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_PLAIN_ROWS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_PLAIN_ROWS_H_

#include <cstdint>

namespace lemma::kernels {

// Whether each of the rows, which lie one after the other, has a finite number and nothing but such
// and -infinity.
bool HasPlainRows(const float* x, int64_t rows, int64_t columns);

// Whether every number is above -infinity, so that none is NaN either.
bool AllAboveMinusInfinity(const float* x, int64_t count);

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_PLAIN_ROWS_H_
