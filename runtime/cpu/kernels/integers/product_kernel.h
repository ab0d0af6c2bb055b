// The kernel of integer products: a convolution or a matrix product of quantized values, and the
// element-wise applications behind it.
//
// It multiplies the integers themselves, in 32 bits, and then computes the rest by definition: the
// scales of both operands as one factor, then each application.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PRODUCT_KERNEL_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PRODUCT_KERNEL_H_

#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// A spec of this kernel has the head's operands as nodes too (IntegerOperand::nodes,
// IntegerProduct::weight_nodes), so that its inputs are the integers.
const KernelDef& IntegerProductKernel();

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PRODUCT_KERNEL_H_
