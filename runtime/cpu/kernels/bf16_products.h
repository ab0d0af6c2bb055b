// Recognizes products of bf16 numbers that are summed in f32, by the definitions of their operands.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_BF16_PRODUCTS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_BF16_PRODUCTS_H_

#include "graph/graph.h"
#include "graph/tensor.h"

namespace lemma::cpu {

// Whether `node` gives the elements of a bf16 operand as f32.
bool WidensBf16(const Node& node);
// Whether `node` rounds the elements of an f32 operand to bf16.
bool RoundsToBf16(const Node& node);

// Whether this processor has instructions for products of bf16 numbers (AVX512_BF16, AMX), and
// oneDNN may use them.
bool HasBf16Products();

// Whether products of bf16 numbers are clearly faster than products of f32 numbers where
// arithmetic, not memory, limits the speed. True if oneDNN uses AMX, if AVX512_BF16 is clearly
// faster (Bf16Speedup), or if the environment variable ONEDNN_MAX_CPU_ISA (or DNNL_MAX_CPU_ISA)
// asks for such instructions by name: AVX512_CORE_BF16 or AVX512_CORE_AMX. False without
// HasBf16Products.
bool PrefersBf16Products();

// Whether the kernel of `node` should multiply bf16 numbers if its operands are such numbers. Call
// it only if the kernel can read them (KernelDef::reads_bf16) and HasBf16Products is true. False
// for convolutions of an odd number of channels in one group, where oneDNN would read numbers that
// are not in the window. Otherwise true with PrefersBf16Products; without it, true only for
// products of a matrix and few rows, whose time is the time to read the matrix.
bool GainsFromBf16(const Node& node);

// Whether every element is a bf16 number (or NaN). `tensor` is f32.
bool HoldsBf16(const Tensor& tensor);

// Whether `head`, an application in f32 of a convolution or of a matrix product, multiplies bf16
// numbers: operand 0 is widened from bf16 at run time, and operand 1 is static and known to hold
// only 0 and bf16 numbers with magnitudes from 2^-126 to 2^100. (With other magnitudes, it would
// matter that the instructions take subnormal numbers as 0.) A bf16 weight whose values are not
// known is assumed to hold such numbers, so the plan may differ when the values are known. False
// without HasBf16Products, and where GainsFromBf16 is false.
bool MultipliesBf16(const Node& head);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_BF16_PRODUCTS_H_
