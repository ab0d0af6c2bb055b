#include "runtime/cpu/kernels/vectorized/softmax_rows.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma::kernels {

#if defined(__x86_64__)

#define LEMMA_AVX512 __attribute__((target("avx512f")))

namespace {

constexpr int64_t kLanes = kLeastSoftmaxColumns;

// exp(x) for x <= 0 and NaN.
LEMMA_AVX512 __attribute__((always_inline)) inline __m512 ExpOfNegative(__m512 x) {
  // 0 is the result from here on; -infinity would become NaN below. NaN stays, as the second
  // operand.
  x = _mm512_max_ps(_mm512_set1_ps(-200.0f), x);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504088896341f)),
                                        _MM_FROUND_TO_NEAREST_INT);
  // r = x - n ln 2, with ln 2 as the sum of two floats.
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.3981999507e-3f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

// Fetches the cache line at p + i, which a later row reads.
LEMMA_AVX512 __attribute__((always_inline)) inline void Prefetch(const float* p, int64_t i) {
  _mm_prefetch(reinterpret_cast<const char*>(p + i), _MM_HINT_T0);
}

// Meanwhile, the rows `soon` and `also_soon`, of as many columns, are fetched from memory.
// No store is masked: the loads of the next row would have to wait for it.
LEMMA_AVX512 void SoftmaxRow(const float* x, int64_t columns, float* y, const float* soon,
                             const float* also_soon) {
  const int64_t whole = columns / kLanes * kLanes;
  // The last kLanes columns; some of them are whole vectors' too.
  const __m512 rest = _mm512_loadu_ps(x + columns - kLanes);
  __m512 m0 = rest, m1 = rest, m2 = rest, m3 = rest;
  int64_t i = 0;
  for (; i + 4 * kLanes <= whole; i += 4 * kLanes) {
    m0 = _mm512_max_ps(m0, _mm512_loadu_ps(x + i));
    m1 = _mm512_max_ps(m1, _mm512_loadu_ps(x + i + kLanes));
    m2 = _mm512_max_ps(m2, _mm512_loadu_ps(x + i + 2 * kLanes));
    m3 = _mm512_max_ps(m3, _mm512_loadu_ps(x + i + 3 * kLanes));
  }
  for (; i < whole; i += kLanes) m0 = _mm512_max_ps(m0, _mm512_loadu_ps(x + i));
  // A NaN may get lost here, but not below.
  m0 = _mm512_max_ps(_mm512_max_ps(m0, m1), _mm512_max_ps(m2, m3));
  const __m512 greatest = _mm512_set1_ps(_mm512_reduce_max_ps(m0));
  const __m512 last = ExpOfNegative(_mm512_sub_ps(rest, greatest));
  __m512 s0 = _mm512_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
  for (i = 0; i + 4 * kLanes <= whole; i += 4 * kLanes) {
    for (int64_t k = 0; k < 4; ++k) {
      Prefetch(soon, i + k * kLanes);
      Prefetch(also_soon, i + k * kLanes);
    }
    const __m512 e0 = ExpOfNegative(_mm512_sub_ps(_mm512_loadu_ps(x + i), greatest));
    const __m512 e1 = ExpOfNegative(_mm512_sub_ps(_mm512_loadu_ps(x + i + kLanes), greatest));
    const __m512 e2 = ExpOfNegative(_mm512_sub_ps(_mm512_loadu_ps(x + i + 2 * kLanes), greatest));
    const __m512 e3 = ExpOfNegative(_mm512_sub_ps(_mm512_loadu_ps(x + i + 3 * kLanes), greatest));
    _mm512_storeu_ps(y + i, e0);
    _mm512_storeu_ps(y + i + kLanes, e1);
    _mm512_storeu_ps(y + i + 2 * kLanes, e2);
    _mm512_storeu_ps(y + i + 3 * kLanes, e3);
    s0 = _mm512_add_ps(s0, e0);
    s1 = _mm512_add_ps(s1, e1);
    s2 = _mm512_add_ps(s2, e2);
    s3 = _mm512_add_ps(s3, e3);
  }
  for (; i < whole; i += kLanes) {
    const __m512 e = ExpOfNegative(_mm512_sub_ps(_mm512_loadu_ps(x + i), greatest));
    _mm512_storeu_ps(y + i, e);
    s0 = _mm512_add_ps(s0, e);
  }
  s0 = _mm512_add_ps(_mm512_add_ps(s0, s1), _mm512_add_ps(s2, s3));
  // The lanes of `last` that are no whole vector's.
  const auto own = static_cast<__mmask16>(0xffff0000u >> (columns - whole));
  s1 = _mm512_maskz_mov_ps(own, last);
  const __m512 scale = _mm512_set1_ps(1.0f / _mm512_reduce_add_ps(_mm512_add_ps(s0, s1)));
  for (i = 0; i < whole; i += kLanes) {
    _mm512_storeu_ps(y + i, _mm512_mul_ps(_mm512_loadu_ps(y + i), scale));
  }
  if (whole < columns) _mm512_storeu_ps(y + columns - kLanes, _mm512_mul_ps(last, scale));
}

}  // namespace

bool HasSoftmaxRows() { return __builtin_cpu_supports("avx512f"); }

void SoftmaxRows(const float* x, int64_t rows, int64_t columns, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* soon = x + std::min(row + 1, rows - 1) * columns;
    SoftmaxRow(x + row * columns, columns, y + row * columns, soon, soon);
  }
}

LEMMA_AVX512 void SoftmaxOfSumRow(const float* x, const float* addend, int64_t columns, float* y,
                                  const float* next_x, const float* next_addend) {
  const int64_t whole = columns / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    _mm512_storeu_ps(y + i, _mm512_add_ps(_mm512_loadu_ps(x + i), _mm512_loadu_ps(addend + i)));
  }
  for (int64_t i = whole; i < columns; ++i) y[i] = x[i] + addend[i];
  SoftmaxRow(y, columns, y, next_x, next_addend);
}

#else

bool HasSoftmaxRows() { return false; }
void SoftmaxRows(const float*, int64_t, int64_t, float*) {}
void SoftmaxOfSumRow(const float*, const float*, int64_t, float*, const float*, const float*) {}

#endif

}  // namespace lemma::kernels
