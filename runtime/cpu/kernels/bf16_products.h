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

// Whether every element is a bf16 number (or NaN). `tensor` is f32.
bool HoldsBf16(const Tensor& tensor);

// Whether `head`, an application in f32 of a convolution or of a matrix product, multiplies bf16
// numbers: operand 0 is widened from bf16 at run time, and operand 1 is static and known to hold
// only 0 and bf16 numbers with magnitudes from 2^-126 to 2^100 (with others, it would matter that
// the instructions take subnormal numbers as 0). A bf16 weight without values counts as known, so
// the plan of a model without its values may differ. False without HasBf16Products.
bool MultipliesBf16(const Node& head);

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_BF16_PRODUCTS_H_
