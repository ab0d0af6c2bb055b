// Measures how fast the processor multiplies bf16 numbers.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_BF16_SPEED_H_
#define LEMMA_RUNTIME_CPU_KERNELS_BF16_SPEED_H_

namespace lemma::cpu {

// Products per second of AVX512_BF16's instruction, divided by those of a fused multiply-add in
// f32: 2 on processors that start equally many of both per cycle, 1 where only one of two units has
// the first. 0 on processors without AVX512_BF16. The first call measures, in about a millisecond,
// and all others return what it found.
double Bf16Speedup();

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_BF16_SPEED_H_
