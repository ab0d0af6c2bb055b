// The kernel of weight-only quantized products. It multiplies a few rows of floats by a matrix of
// weights, and computes the element-wise applications behind the product. Each weight is a known
// small integer times a known scale.
//
// The weights stay integers in memory (narrow_weights.h), since the time of the product is the time
// to read them. If there are more rows, the kernel that multiplies float weights is faster.
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

// `head` as such a product. nullopt if `head` is another application, has more than 8 rows or fewer
// than 65,536 weights, or if the processor has no VNNI (kernels::BestIntegerIsa).
std::optional<WeightOnlyProduct> WeightOnlyProductOf(const Node& head);

// The definition of the kernel. The nodes of its spec include WeightOnlyProduct::nodes, so the
// spec's inputs include the integers and the scales, not the weight.
const KernelDef& WeightOnlyKernel();

// An estimate of the bits in which the kernel of `head` stores a weight: 4, 8, or 32 for a float.
// It is also 32 if `head` is no such product. Constants of an 8-bit type count as 8 bits, whatever
// their values; the kernel itself looks at the values.
int WeightBitsOf(const Node& head);

// The weights of a kernel that WeightOnlyKernel() built; nullptr for another kernel. They live as
// long as the kernel.
const kernels::NarrowWeights* WeightsOf(const Kernel& kernel);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_WEIGHT_ONLY_KERNEL_H_
