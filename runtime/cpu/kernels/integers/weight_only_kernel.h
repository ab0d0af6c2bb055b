// The kernel of weight-only quantized products: a few rows of floats times a matrix of weights that
// are known small integers times known scales, and the element-wise applications behind it.
//
// The weights stay integers in memory (narrow_weights.h), since the time of the
// product is the time to read them. Products with more rows are computed in
// floats, which uses each float weight more often.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_WEIGHT_ONLY_KERNEL_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_WEIGHT_ONLY_KERNEL_H_

#include <optional>
#include <vector>

#include "runtime/cpu/kernels/integers/narrow_weights.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// A matrix product whose weight is `integers` * `scale` (ScaledIntegersOf), perhaps with its
// elements moved (reshaped, transposed, …). `nodes` compute the weight from these two, operands
// before users.
struct WeightOnlyProduct {
  Value integers, scale;
  std::vector<NodePtr> nodes;
};

// `head` as such a product; nullopt if it is another application, has too many rows or too small a
// weight, or if the machine gains nothing.
std::optional<WeightOnlyProduct> WeightOnlyProductOf(const Node& head);

// The nodes of this kernel's spec include WeightOnlyProduct::nodes, so its inputs include the
// integers and scales, not the weight.
const KernelDef& WeightOnlyKernel();

// The bits of a packed integer of the product `head`: 4, 8 or, if it is stored as a float, 32. This
// is an estimate: 8-bit constants count as 8 bits, whatever their values. The kernel packs by the
// values.
int WeightBitsOf(const Node& head);

// The weights of a kernel that WeightOnlyKernel() built; nullptr for another kernel. They live as
// long as the kernel.
const kernels::NarrowWeights* WeightsOf(const Kernel& kernel);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_WEIGHT_ONLY_KERNEL_H_
