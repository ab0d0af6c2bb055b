// Describes a matrix product in the form that libraries such as cuBLASLt take.
#ifndef LEMMA_KERNELS_CODEGEN_GEMM_CALL_H_
#define LEMMA_KERNELS_CODEGEN_GEMM_CALL_H_

#include <cstdint>

#include "graph/dtype.h"
#include "kernels/codegen/product_precision.h"

namespace lemma::codegen {

// A batch of matrices in memory. Offsets and strides count elements: element (i, j) of matrix p
// lies at offset + p * batch_stride + i + j * leading or, if transposed, at
// offset + p * batch_stride + i * leading + j.
struct GemmMatrix {
  int argument = -1;  // index of the kernel's argument; -1: there is no matrix (allowed for C only)
  int64_t offset = 0;
  bool transposed = false;
  int64_t leading = 0;
  int64_t batch_stride = 0;
};

// D = A * B + C + bias for each of `batch` matrices, in column-major order. A
// and B are stored in the type `factors`: f32, f16 or bf16. C and bias are f32.
// D has the type `result`: f32, or the type `factors` if there is neither C nor
// bias. A is m by k, B is k by n. C and D are m by n and not transposed.
// bias[i] is added to all elements of row i. Sizes and leading dimensions are
// below 2^31. C may lie exactly where D lies (an update in place); otherwise C
// and D do not overlap.
struct GemmCall {
  int64_t batch = 1, m = 0, n = 0, k = 0;
  GemmMatrix a, b, c, d;
  int bias_argument = -1;   // as GemmMatrix::argument; -1: no bias
  int64_t bias_offset = 0;  // in elements
  ProductPrecision precision = ProductPrecision::kF32;
  DType factors = DType::kF32, result = DType::kF32;
};

}  // namespace lemma::codegen

#endif  // LEMMA_KERNELS_CODEGEN_GEMM_CALL_H_
