// A kernel for element-wise applications of which only the last ones are a chain, such as a GELU
// and the quantization behind it: blocks of elements go through loops and then, still in the cache,
// through the chain.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_ENDING_CHAIN_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_ENDING_CHAIN_H_

#include <memory>

#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {

// The kernel of `spec`, whose nodes are element-wise. nullptr if there is none, as when the result
// has no 8-bit integers, the last nodes are no KnownChain, or an operand is neither a single number
// nor lies in memory as the result does, without gaps.
std::unique_ptr<Kernel> BuildEndingChain(const CpuKernelSpec& spec, const StaticValues& statics);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_ENDING_CHAIN_H_
