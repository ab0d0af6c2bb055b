// Computes element-wise applications to one 8-bit value by a table of their 256 results.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TABLE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TABLE_H_

#include <optional>
#include <vector>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The one dynamic input, u8 or i8, from which the last node's output is computed element by
// element. nullopt if there is no such input, or if another input is not a single static number.
// `inputs`: the values that the nodes read and do not compute. `is_static`: whether each of the
// inputs is static.
std::optional<Value> TableSource(const std::vector<NodePtr>& nodes,
                                 const std::vector<Value>& inputs,
                                 const std::vector<bool>& is_static);

// The results for the bytes 0 to 255 of the source, in the order of the bytes, computed by the
// definitions of the spec's nodes; for an i8 source, byte 255 stands for -1. nullopt if TableSource
// gives nothing for the spec, or if another operand is not a single number.
std::optional<Tensor> TableOf(const CpuKernelSpec& spec, const StaticValues& statics);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_TABLE_H_
