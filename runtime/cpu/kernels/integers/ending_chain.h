// A kernel for element-wise applications of which only the last ones are a chain (chain.h), such as
// a GELU and the quantization behind it. A block of elements goes first through loops and then,
// while it is still in the cache, through the chain.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_ENDING_CHAIN_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_ENDING_CHAIN_H_

#include <memory>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The kernel of `spec`, whose nodes are element-wise. nullptr if there is none. There is none, for
// example, if the result is not of 8-bit integers, if the last nodes are no KnownChain, or if an
// operand is not a single number and does not lie in memory as the result does, without gaps.
std::unique_ptr<Kernel> BuildEndingChain(const CpuKernelSpec& spec, const StaticValues& statics);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_ENDING_CHAIN_H_
