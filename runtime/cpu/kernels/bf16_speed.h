// Measures how fast the processor multiplies bf16 numbers.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_BF16_SPEED_H_
#define LEMMA_RUNTIME_CPU_KERNELS_BF16_SPEED_H_

namespace lemma::cpu {

// The speed of AVX512_BF16's dot product, divided by the speed of AVX-512's fused multiply-add in
// f32; both speeds are products per second. 2 if a processor starts as many dot products as
// multiply-adds per cycle; 1 if only one of its two units has the dot product. 0 on processors
// without AVX512_BF16. The first call measures for about a millisecond; later calls return the same
// number.
double Bf16Speedup();

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_BF16_SPEED_H_
