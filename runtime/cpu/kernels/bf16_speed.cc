#include "runtime/cpu/kernels/bf16_speed.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <chrono>
#endif

namespace lemma::cpu {
#if defined(__x86_64__)
namespace {

constexpr int kSums = 12;      // more than an instruction has cycles of latency
constexpr int kRounds = 1000;  // with kSums instructions each: some microseconds

// The sums stay in registers, and the compiler can neither join nor leave out instructions.
#define LEMMA_KEEP_SUMS(s)                                                                   \
  __asm__ volatile(""                                                                        \
                   : "+v"(s[0]), "+v"(s[1]), "+v"(s[2]), "+v"(s[3]), "+v"(s[4]), "+v"(s[5]), \
                     "+v"(s[6]), "+v"(s[7]), "+v"(s[8]), "+v"(s[9]), "+v"(s[10]), "+v"(s[11]))

__attribute__((target("avx512f,avx512bf16"))) void MultiplyBf16() {
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const auto x = reinterpret_cast<__m512bh>(_mm512_setzero_ps());
  for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm512_dpbf16_ps(sums[k], x, x);
    LEMMA_KEEP_SUMS(sums);
  }
}

__attribute__((target("avx512f"))) void MultiplyF32() {
  __m512 sums[kSums];
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  const __m512 x = _mm512_setzero_ps();
  for (int i = 0; i < kRounds; ++i) {
#pragma GCC unroll 12
    for (int k = 0; k < kSums; ++k) sums[k] = _mm512_fmadd_ps(x, x, sums[k]);
    LEMMA_KEEP_SUMS(sums);
  }
}
#undef LEMMA_KEEP_SUMS

double SecondsOf(void (*run)()) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Measure() {
  if (__builtin_cpu_supports("avx512bf16") == 0) return 0;
  // The shortest of many short runs, alternating: no other process ran in between.
  double bf16 = 1, f32 = 1;
  for (int i = 0; i < 100; ++i) {
    bf16 = std::min(bf16, SecondsOf(MultiplyBf16));
    f32 = std::min(f32, SecondsOf(MultiplyF32));
  }
  return 2 * f32 / bf16;  // an instruction adds two products of bf16 numbers to each sum
}

}  // namespace

double Bf16Speedup() {
  static const double speedup = Measure();
  return speedup;
}
#else
double Bf16Speedup() { return 0; }
#endif

}  // namespace lemma::cpu
