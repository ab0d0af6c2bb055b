// Describes the rows that our own softmax kernel (norm.cc) computes. Internal to runtime/cpu.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_ROW_SOFTMAX_H_
#define LEMMA_RUNTIME_CPU_KERNELS_ROW_SOFTMAX_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// A tensor that is added to the rows before their softmax is computed. Its elements for one row are
// contiguous.
struct RowAddend {
  struct Dim {
    int64_t size = 0, stride = 0;  // stride: in elements
    bool is_broadcast = false;     // the addend has one element along it; the stride is 0
  };
  int input = 0;          // its index in the spec's inputs
  std::vector<Dim> dims;  // of the rows; the product of the sizes is the number of rows

  // Where the addend of a row begins, in elements.
  int64_t OffsetOf(int64_t row) const;
};

// Contiguous rows, one after the other; the kernel computes the softmax of each row.
struct SoftmaxMatrix {
  int64_t rows = 0, columns = 0;
  int input = 0;                    // the index of the rows in the spec's inputs
  std::optional<RowAddend> addend;  // the softmax is that of rows + addend
};

// The rows that `kernel` computes, if it is our own softmax kernel, which calls the functions of
// vectorized/softmax_rows.h; nullopt for any other kernel. Defined in norm.cc.
std::optional<SoftmaxMatrix> SoftmaxMatrixOf(const Kernel& kernel);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_ROW_SOFTMAX_H_
