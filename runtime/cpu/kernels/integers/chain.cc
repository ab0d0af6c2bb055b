#include "runtime/cpu/kernels/integers/chain.h"

#include <algorithm>
#include <cmath>

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
      case Kind::kMultiply:
        v = v * s->number;
        break;
      case Kind::kDivide:
        v = v / s->number;
        break;
      case Kind::kMin:
        v = Least(v, s->number);
        break;
      case Kind::kMax:
        v = Greatest(v, s->number);
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

constexpr int kVectors = 4;
constexpr int64_t kBlock = kChainColumns;
static_assert(kBlock == 8 * kVectors);

struct Block {
  __m256 v[kVectors];
};

template <class F>
__attribute__((target("avx2"), always_inline)) inline void Each(Block* block, F f) {
#pragma GCC unroll 4
  for (auto& v : block->v) v = f(v);
}

__attribute__((target("avx2"))) inline void Load(const ChainStep& s, int64_t i, int64_t j,
                                                 Block* to) {
  for (int k = 0; k < kVectors; ++k) {
    const int64_t at = (s.kind == Kind::kLoadVector ? 0 : i * s.data_step) + j + 8 * k;
    if (s.kind == Kind::kLoadU8) {
      const auto* from = reinterpret_cast<const __m128i*>(static_cast<const uint8_t*>(s.data) + at);
      to->v[k] = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64(from)));
    } else if (s.kind == Kind::kLoadI8) {
      const auto* from = reinterpret_cast<const __m128i*>(static_cast<const int8_t*>(s.data) + at);
      to->v[k] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(from)));
    } else {
      to->v[k] = _mm256_loadu_ps(static_cast<const float*>(s.data) + at);
    }
  }
}

__attribute__((target("avx2"))) inline __m256i Bytes(const Block& x, bool is_signed) {
  __m256i i[kVectors];
  for (int k = 0; k < kVectors; ++k) i[k] = _mm256_cvttps_epi32(x.v[k]);
  const __m256i low = _mm256_packs_epi32(i[0], i[1]), high = _mm256_packs_epi32(i[2], i[3]);
  const __m256i bytes = is_signed ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
  // Packing works on halves of 128 bits.
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

__attribute__((target("avx2"), always_inline)) inline __m256 Narrow(__m256 x, __m256 low,
                                                                    __m256 high) {
  const __m256 numbers = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
  const __m256 inside = _mm256_min_ps(_mm256_max_ps(numbers, low), high);
  return _mm256_round_ps(inside, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC) + _mm256_setzero_ps();
}

__attribute__((target("avx2"))) inline void Apply(const ChainStep& s, Block* v) {
  const __m256 number = _mm256_set1_ps(s.number);
  const __m256 low = _mm256_set1_ps(s.low), high = _mm256_set1_ps(s.high);
  switch (s.kind) {
    case Kind::kAdd:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return x + number; });
    case Kind::kSubtract:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return x - number; });
    case Kind::kMultiply:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return x * number; });
    case Kind::kDivide:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return x / number; });
    case Kind::kMin:  // the second operand if one is NaN
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return _mm256_min_ps(number, x); });
    case Kind::kMax:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return _mm256_max_ps(number, x); });
    case Kind::kRound:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) {
            return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
          });
    case Kind::kClip:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) {
            return _mm256_min_ps(high, _mm256_max_ps(low, x));
          });
    case Kind::kNarrow:
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) { return Narrow(x, low, high); });
    case Kind::kQuantize: {
      const __m256 offset = _mm256_set1_ps(s.offset);
      return Each(
          v, [&](__m256 x) __attribute__((target("avx2"))) {
            constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
            return Narrow(_mm256_round_ps(x / number, kNearest) + offset, low, high);
          });
    }
    default:
      return;
  }
}

// The first columns of a row, in whole blocks; returns their number.
__attribute__((target("avx2"))) int64_t ApplyBlocks(const float* x, int64_t i, int64_t columns,
                                                    const ChainStep* steps, int count,
                                                    ChainResult result, void* y, int64_t y_at) {
  int64_t j = 0;
  for (; j + kBlock <= columns; j += kBlock) {
    Block v, other = {};
    for (int k = 0; k < kVectors; ++k) {
      v.v[k] = x == nullptr ? _mm256_setzero_ps() : _mm256_loadu_ps(x + j + 8 * k);
    }
    for (const ChainStep* s = steps; s != steps + count; ++s) {
      switch (s->kind) {
        case Kind::kLoadU8:
        case Kind::kLoadI8:
        case Kind::kLoadF32:
        case Kind::kLoadVector:
          Load(*s, i, j, &other);
          break;
        case Kind::kTakeOther:
          v = other;
          break;
        case Kind::kAddOther:
          for (int k = 0; k < kVectors; ++k) v.v[k] = v.v[k] + other.v[k];
          break;
        case Kind::kSubtractOther:
          for (int k = 0; k < kVectors; ++k) v.v[k] = v.v[k] - other.v[k];
          break;
        case Kind::kMultiplyOther:
          for (int k = 0; k < kVectors; ++k) v.v[k] = v.v[k] * other.v[k];
          break;
        default:
          Apply(*s, s->on_other ? &other : &v);
      }
    }
    if (result == ChainResult::kF32) {
      float* to = static_cast<float*>(y) + y_at + j;
      for (int k = 0; k < kVectors; ++k) _mm256_storeu_ps(to + 8 * k, v.v[k]);
    } else {
      auto* to = reinterpret_cast<__m256i*>(static_cast<char*>(y) + y_at + j);
      _mm256_storeu_si256(to, Bytes(v, result == ChainResult::kI8));
    }
  }
  return j;
}

#endif

}  // namespace

void ApplyChain(const float* x, int64_t x_step, int64_t rows, int64_t columns,
                const ChainStep* steps, int count, ChainResult result, void* y, int64_t y_step) {
  for (int64_t i = 0; i < rows; ++i) {
    int64_t j = 0;
#if defined(__x86_64__)
    if (HasIntegerTiles()) {
      j = ApplyBlocks(x == nullptr ? x : x + i * x_step, i, columns, steps, count, result, y,
                      i * y_step);
    }
#endif
    for (; j < columns; ++j) {
      const float from = x == nullptr ? 0 : x[i * x_step + j];
      StoreOne(OneElement(from, steps, count, i, j), result, y, i * y_step + j);
    }
  }
}

}  // namespace lemma::kernels
