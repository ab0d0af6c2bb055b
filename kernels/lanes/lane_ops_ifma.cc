// Products of Field elements for machines with AVX-512 IFMA, whose instructions multiply numbers of
// 52 bits and add the lower (lo) or upper (hi) 52 bits of the product to 64 bits.
//
// With a = a0 + 2^52 a1 and b = b0 + 2^52 b1, where a1 and b1 have 9 bits,
//   a b = lo(a0 b0) + 2^52 (hi(a0 b0) + lo(a0 b1) + lo(a1 b0))
//       + 2^104 (hi(a0 b1) + hi(a1 b0) + lo(a1 b1)),
// and 2^61 = 1 (mod p).
#include <cstdint>

#include "kernels/lanes/lane_ops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma {
namespace lane_internal {

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,avx512ifma,prefer-vector-width=512")
namespace ifma {
namespace {

constexpr int kVector = 8, kLimb = 52, kPrimeBits = 61;
constexpr uint64_t kPrime = Field::kPrime;

inline __m512i Load(const Field* p) { return _mm512_loadu_si512(p); }
inline void Store(Field* p, __m512i x) { _mm512_storeu_si512(p, x); }
// GCC 12 warns of its own intrinsics for shifts.
using Unsigned = __v8du;
inline __m512i Up(__m512i x, int bits) { return (__m512i)((Unsigned)x << bits); }
inline __m512i Down(__m512i x, int bits) { return (__m512i)((Unsigned)x >> bits); }
inline __m512i Spread(uint64_t x) { return _mm512_set1_epi64(static_cast<int64_t>(x)); }

// A sum of products: low + 2^52 middle + 2^104 high.
struct Sum {
  __m512i low, middle, high;
};

// *sum += a b; a1 and b1 are the upper limbs.
inline void AddProduct(Sum* sum, __m512i a, __m512i a1, __m512i b, __m512i b1) {
  sum->low = _mm512_madd52lo_epu64(sum->low, a, b);
  sum->middle = _mm512_madd52hi_epu64(sum->middle, a, b);
  sum->middle = _mm512_madd52lo_epu64(sum->middle, a, b1);
  sum->middle = _mm512_madd52lo_epu64(sum->middle, a1, b);
  sum->high = _mm512_madd52hi_epu64(sum->high, a, b1);
  sum->high = _mm512_madd52hi_epu64(sum->high, a1, b);
  sum->high = _mm512_madd52lo_epu64(sum->high, a1, b1);
}

// x modulo the prime.
inline __m512i Reduced(__m512i x) {
  const __m512i prime = Spread(kPrime);
  x = _mm512_add_epi64(_mm512_and_si512(x, prime), Down(x, kPrimeBits));
  return _mm512_mask_sub_epi64(x, _mm512_cmpge_epu64_mask(x, prime), x, prime);
}

// The value of a sum. Its parts may be any 64 bits.
inline __m512i ValueOf(const Sum& sum) {
  constexpr int kMiddle = kPrimeBits - kLimb;    // 2^52 * 2^9 = 1
  constexpr int kHigh = 2 * kLimb - kPrimeBits;  // 2^104 = 2^43
  constexpr int kAbove = kPrimeBits - kHigh;     // 2^43 * 2^18 = 1
  const __m512i prime = Spread(kPrime);
  const auto turned = [&](__m512i x, int left, int right) {  // 2^left x, as left + right = 61
    return _mm512_add_epi64(_mm512_and_si512(Up(x, left), prime), Down(x, right));
  };
  // Each summand is below 2^61 + 2^55.
  return Reduced(_mm512_add_epi64(
      turned(sum.low, 0, kPrimeBits),
      _mm512_add_epi64(turned(sum.middle, kLimb, kMiddle), turned(sum.high, kHigh, kAbove))));
}

// acc + a b for elements that are not special.
inline __m512i MulAdd(__m512i acc, __m512i a, __m512i b) {
  const __m512i zero = _mm512_setzero_si512();
  Sum sum = {acc, zero, zero};
  AddProduct(&sum, a, Down(a, kLimb), b, Down(b, kLimb));
  return ValueOf(sum);
}

inline bool AnySpecial(__m512i x) { return _mm512_movepi64_mask(x) != 0; }

template <bool V>
void MulAddLanes(Field* acc, const Field* a, const Field* b, int64_t n) {
  const Field s = *b;
  const __m512i same = Spread(s.raw());
  int64_t i = 0;
  for (; i + kVector <= n; i += kVector) {
    const __m512i x = Load(a + i), y = V ? Load(b + i) : same, sum = Load(acc + i);
    if (AnySpecial(_mm512_or_si512(_mm512_or_si512(x, y), sum))) {
      for (int k = 0; k < kVector; ++k) acc[i + k] = acc[i + k] + a[i + k] * (V ? b[i + k] : s);
      continue;
    }
    Store(acc + i, MulAdd(sum, x, y));
  }
  for (; i < n; ++i) acc[i] = acc[i] + a[i] * (V ? b[i] : s);
}

constexpr int kRows = 4, kVectors = 2;

void Tile(Field* c, int64_t ldc, const Field* a, const Field* b, int64_t kc, bool accumulate) {
  constexpr int64_t kExact = 1024;  // products whose limbs, three at a time, fit into 64 bits
  const __m512i zero = _mm512_setzero_si512();
  while (kc > 0 || !accumulate) {
    const int64_t some = kc < kExact ? kc : kExact;
    kc -= some;
    Sum sum[kRows][kVectors];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        sum[i][j] = {accumulate ? Load(c + i * ldc + j * kVector) : zero, zero, zero};
      }
    }
    for (int64_t k = 0; k < some; ++k, a += kRows, b += kVectors * kVector) {
      __m512i y[kVectors], y1[kVectors];
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) {
        y[j] = Load(b + j * kVector);
        y1[j] = Down(y[j], kLimb);
      }
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const __m512i x = Spread(a[i].raw()), x1 = Spread(a[i].raw() >> kLimb);
#pragma GCC unroll 2
        for (int j = 0; j < kVectors; ++j) AddProduct(&sum[i][j], x, x1, y[j], y1[j]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
      for (int j = 0; j < kVectors; ++j) Store(c + i * ldc + j * kVector, ValueOf(sum[i][j]));
    }
    accumulate = true;
  }
}

}  // namespace
}  // namespace ifma
#pragma GCC pop_options

bool UseIfma(LaneOps<Field>* ops) {
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
      !__builtin_cpu_supports("avx512ifma")) {
    return false;
  }
  ops->mul_add_vv = ifma::MulAddLanes<true>;
  ops->mul_add_vs = ifma::MulAddLanes<false>;
  ops->mr = ifma::kRows;
  ops->nr = ifma::kVectors * ifma::kVector;
  ops->tile = ifma::Tile;
  return true;
}
#else
bool UseIfma(LaneOps<Field>*) { return false; }
#endif

}  // namespace lane_internal
}  // namespace lemma
