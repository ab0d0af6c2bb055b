#include "runtime/cpu/kernels/integers/chain.h"

#include <algorithm>
#include <cmath>

#include "kernels/lanes/lane_ops.h"
#include "runtime/cpu/kernels/integers/tiles.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma::kernels {
namespace {

using Kind = ChainStep::Kind;

template <class T>
float At(const ChainStep& s, int64_t i, int64_t j) {
  return static_cast<float>(static_cast<const T*>(s.data)[i * s.data_step + j]);
}

float Least(float a, float b) { return a != a || a < b ? a : b; }
float Greatest(float a, float b) { return a != a || a > b ? a : b; }

float ScaledNegative(float v, float number) { return v < 0 ? v * number : v; }

void Apply(ScalarFn function, float* v, int64_t count) {
  Lanes<float>().unary[static_cast<int>(function)](v, v, count);
}

float Narrowed(float v, const ChainStep& s) {
  return v == v ? std::trunc(std::min(std::max(v, s.low), s.high)) + 0.0f : 0.0f;
}

float OneElement(float x, const ChainStep* steps, int count, int64_t i, int64_t j) {
  float y = 0;
  for (const ChainStep* s = steps; s != steps + count; ++s) {
    float& v = s->on_other ? y : x;
    switch (s->kind) {
      case Kind::kAdd:
        v = v + s->number;
        break;
      case Kind::kSubtract:
        v = v - s->number;
        break;
      case Kind::kSubtractFrom:
        v = s->number - v;
        break;
      case Kind::kMultiply:
        v = v * s->number;
        break;
      case Kind::kDivide:
        v = v / s->number;
        break;
      case Kind::kDivideFrom:
        v = s->number / v;
        break;
      case Kind::kMin:
        v = Least(v, s->number);
        break;
      case Kind::kMax:
        v = Greatest(v, s->number);
        break;
      case Kind::kScaleNegative:
        v = ScaledNegative(v, s->number);
        break;
      case Kind::kRound:
        v = std::nearbyint(v);
        break;
      case Kind::kClip:
        v = Least(Greatest(v, s->low), s->high);
        break;
      case Kind::kNarrow:
        v = Narrowed(v, *s);
        break;
      case Kind::kQuantize:
        v = Narrowed(std::nearbyint(v / s->number) + s->offset, *s);
        break;
      case Kind::kFunction:
        Apply(s->function, &v, 1);
        break;
      case Kind::kLoadU8:
        y = At<uint8_t>(*s, i, j);
        break;
      case Kind::kLoadI8:
        y = At<int8_t>(*s, i, j);
        break;
      case Kind::kLoadF32:
        y = At<float>(*s, i, j);
        break;
      case Kind::kLoadVector:
        y = static_cast<const float*>(s->data)[j];
        break;
      case Kind::kLoadVectorU8:
        y = At<uint8_t>(*s, 0, j);
        break;
      case Kind::kLoadVectorI8:
        y = At<int8_t>(*s, 0, j);
        break;
      case Kind::kKeep:
        y = x;
        break;
      case Kind::kTakeOther:
        x = y;
        break;
      case Kind::kAddOther:
        x = x + y;
        break;
      case Kind::kSubtractOther:
        x = x - y;
        break;
      case Kind::kMultiplyOther:
        x = x * y;
        break;
      case Kind::kDivideOther:
        x = x / y;
        break;
      case Kind::kScaleNegativeOther:
        x = ScaledNegative(x, y);
        break;
      case Kind::kSelectOther:
        x = x < 0 ? y : x;
        break;
    }
  }
  return x;
}

void StoreOne(float x, ChainResult result, void* y, int64_t at) {
  switch (result) {
    case ChainResult::kF32:
      static_cast<float*>(y)[at] = x;
      break;
    case ChainResult::kU8:
      static_cast<uint8_t*>(y)[at] = static_cast<uint8_t>(x);
      break;
    case ChainResult::kI8:
      static_cast<int8_t*>(y)[at] = static_cast<int8_t>(x);
      break;
  }
}

#if defined(__x86_64__)

// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
namespace avx2 {

using Floats = __m256;
constexpr int64_t kLanes = 8;

inline Floats Broadcast(float x) { return _mm256_set1_ps(x); }
inline Floats Load(const float* from) { return _mm256_loadu_ps(from); }
inline void Store(Floats x, float* to) { _mm256_storeu_ps(to, x); }
inline Floats LoadU8(const uint8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
}
inline Floats LoadI8(const int8_t* from) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
}
inline Floats Least(Floats a, Floats b) { return _mm256_min_ps(a, b); }
inline Floats Greatest(Floats a, Floats b) { return _mm256_max_ps(a, b); }
inline Floats IfNegative(Floats x, Floats y) {
  return _mm256_blendv_ps(x, y, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ));
}
inline Floats Nearest(Floats x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Floats Narrow(Floats x, Floats low, Floats high) {
  const Floats numbers = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
  const Floats inside = _mm256_min_ps(_mm256_max_ps(numbers, low), high);
  return _mm256_round_ps(inside, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC) + _mm256_setzero_ps();
}
template <int kVectors>
inline void StoreBytes(const Floats* x, bool is_signed, char* to) {
  if constexpr (kVectors == 4) {
    __m256i i[4];
    for (int k = 0; k < 4; ++k) i[k] = _mm256_cvttps_epi32(x[k]);
    const __m256i low = _mm256_packs_epi32(i[0], i[1]), high = _mm256_packs_epi32(i[2], i[3]);
    const __m256i bytes =
        is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    // Packing works on halves of 128 bits.
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_permutevar8x32_epi32(bytes, order));
  } else {
    const __m256i i = _mm256_cvttps_epi32(x[0]);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
    const __m128i bytes =
        is_signed ? _mm_packs_epi16(words, words) : _mm_packus_epi16(words, words);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
  }
}

#include "runtime/cpu/kernels/integers/chain_blocks.inc"

}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq")
#endif
namespace avx512 {

using Floats = __m512;
constexpr int64_t kLanes = 16;

inline Floats Broadcast(float x) { return _mm512_set1_ps(x); }
inline Floats Load(const float* from) { return _mm512_loadu_ps(from); }
inline void Store(Floats x, float* to) { _mm512_storeu_ps(to, x); }
inline Floats LoadU8(const uint8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
}
inline Floats LoadI8(const int8_t* from) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
}
inline Floats Least(Floats a, Floats b) { return _mm512_min_ps(a, b); }
inline Floats Greatest(Floats a, Floats b) { return _mm512_max_ps(a, b); }
inline Floats IfNegative(Floats x, Floats y) {
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ), y);
}
inline Floats Nearest(Floats x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Floats Narrow(Floats x, Floats low, Floats high) {
  const Floats numbers = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), x);
  const Floats inside = _mm512_min_ps(_mm512_max_ps(numbers, low), high);
  return _mm512_roundscale_ps(inside, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC) + _mm512_setzero_ps();
}
template <int kVectors>
inline void StoreBytes(const Floats* x, bool /*is_signed*/, char* to) {
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; ++k) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + kLanes * k),
                     _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x[k])));
  }
}

#include "runtime/cpu/kernels/integers/chain_blocks.inc"

}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

}  // namespace

void ApplyChain(const float* x, int64_t x_step, int64_t rows, int64_t columns,
                const ChainStep* steps, int count, ChainResult result, void* y, int64_t y_step,
                IntegerIsa isa) {
#if defined(__x86_64__)
  const bool calls = std::any_of(steps, steps + count,
                                 [](const ChainStep& s) { return s.kind == Kind::kFunction; });
#endif
  for (int64_t i = 0; i < rows; ++i) {
    int64_t j = 0;
#if defined(__x86_64__)
    const float* row = x == nullptr ? x : x + i * x_step;
    if (isa == IntegerIsa::kVnni) {
      const auto apply = calls ? avx512::ApplyRow<true> : avx512::ApplyRow<false>;
      j = apply(row, i, j, columns, steps, count, result, y, i * y_step);
    }
    if (isa != IntegerIsa::kNone) {
      const auto apply = calls ? avx2::ApplyRow<true> : avx2::ApplyRow<false>;
      j = apply(row, i, j, columns, steps, count, result, y, i * y_step);
    }
#endif
    for (; j < columns; ++j) {
      const float from = x == nullptr ? 0 : x[i * x_step + j];
      StoreOne(OneElement(from, steps, count, i, j), result, y, i * y_step + j);
    }
  }
}

}  // namespace lemma::kernels
