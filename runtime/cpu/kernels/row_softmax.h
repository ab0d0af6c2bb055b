// Tells which rows our own kernel for softmax computes. Internal to
// runtime/cpu.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_ROW_SOFTMAX_H_
#define LEMMA_RUNTIME_CPU_KERNELS_ROW_SOFTMAX_H_

#include <cstdint>
#include <optional>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// Contiguous rows, one after the other; the kernel computes the softmax of each row.
struct SoftmaxMatrix {
  int64_t rows = 0, columns = 0;
};

// The rows that `kernel` computes if it is a softmax by SoftmaxRows
// (vectorized/softmax_rows.h); nullopt for any other kernel.
std::optional<SoftmaxMatrix> SoftmaxMatrixOf(const Kernel& kernel);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_ROW_SOFTMAX_H_
