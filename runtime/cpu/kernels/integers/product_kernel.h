// The kernel of integer products: a convolution or a matrix product of quantized values, and the
// element-wise applications behind it.
//
// The kernel multiplies the integers themselves, with sums of 32 bits. Then it multiplies the sums
// by the scales of both operands, as one factor, and computes each application by its definition.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PRODUCT_KERNEL_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PRODUCT_KERNEL_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/cpu/kernels/integers/chain_program.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/integers/packed_product.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The nodes of this kernel's spec include those that compute the head's operands
// (IntegerOperand::nodes, IntegerProduct::weight_nodes), so its inputs are the integers.
const KernelDef& IntegerProductKernel();

// The computation of such a kernel, for runtime/cpu/statement.h. Inputs are given by their indices
// in the spec; -1: none. Pointers are valid as long as the kernel lives.
struct IntegerProductParts {
  const PackedProduct* product = nullptr;
  bool is_float = false;  // whether the sums are converted to floats
  int source = -1, zero = -1, bias = -1;
  int64_t row_step = 0;     // elements from one pixel or row of the result to the next
  std::vector<int> scales;  // inputs of one number each: factors of the sums
  // A factor for each channel of the result (column of a matrix product), or one for all; empty: 1.
  std::vector<float> weight_scale;
  // The parts that follow the sums, in order. Each computes `nodes` from the value `start`: by
  // `chain` or, if `chain` is nullptr, by the nodes' definitions.
  struct Part {
    Value start;
    std::vector<NodePtr> nodes;
    const ChainProgram* chain = nullptr;
  };
  std::vector<Part> parts;
};

// The parts of a kernel that IntegerProductKernel() built; nullopt for another kernel.
std::optional<IntegerProductParts> PartsOf(const Kernel& kernel);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PRODUCT_KERNEL_H_
