#include "runtime/cpu/kernels/integers/requantization/requantize_block.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma::kernels {

#if defined(__x86_64__)
namespace {

using Source = RequantizedBlock::Source;

// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

inline __m512 LoadBytes(const char* from, __mmask16 which, bool is_signed) {
  const __m128i bytes = _mm_maskz_loadu_epi8(which, from);
  return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}

// Numbers beyond the type become its least or greatest number.
template <int kVectors>
inline void StoreBytes(const __m512i* numbers, bool is_signed, __mmask16 last, char* y) {
  if constexpr (kVectors == 4) {
    if (last == 0xffff) {
      // Packing works on quarters of 128 bits.
      const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
      const __m512i a = _mm512_packs_epi32(numbers[0], numbers[1]);
      const __m512i b = _mm512_packs_epi32(numbers[2], numbers[3]);
      const __m512i bytes = is_signed ? _mm512_packs_epi16(a, b) : _mm512_packus_epi16(a, b);
      _mm512_storeu_si512(y, _mm512_permutexvar_epi32(order, bytes));
      return;
    }
  }
#pragma GCC unroll 4
  for (int k = 0; k < kVectors; ++k) {
    const __m128i bytes =
        is_signed ? _mm512_cvtsepi32_epi8(numbers[k])
                  : _mm512_cvtusepi32_epi8(_mm512_max_epi32(numbers[k], _mm512_setzero_si512()));
    _mm_mask_storeu_epi8(y + 16 * k, k + 1 == kVectors ? last : 0xffff, bytes);
  }
}

// RunBlock for 16 * kVectors columns, of which the last 16 are those of `last`.
template <int kVectors, int kStages, bool kSaturates, Source kSource>
int64_t RunVectors(const RequantizedBlock& b, __mmask16 last, int64_t* doubtful) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  constexpr int kGreaterMagnitude = 0x0b;  // of VRANGEPS: the maximum of the magnitudes
  __m512 factor[kStages][kVectors], addend[kStages][kVectors];
  __m512 low[kStages], high[kStages], other_factor[kStages];
#pragma GCC unroll 2
  for (int s = 0; s < kStages; ++s) {
    low[s] = _mm512_set1_ps(b.stages[s].low);
    high[s] = _mm512_set1_ps(b.stages[s].high);
    other_factor[s] = _mm512_set1_ps(b.stages[s].other_factor);
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      factor[s][k] = _mm512_loadu_ps(b.stages[s].factor + 16 * k);
      addend[s][k] = _mm512_loadu_ps(b.stages[s].addend + 16 * k);
    }
  }
  int64_t found = 0;
  for (int64_t i = 0; i < b.rows; ++i) {
    const char* from = b.x + i * b.x_step;
    const char* other = b.other + i * b.other_step;
    __m512 x[kVectors];
    __m512i numbers[kVectors];
    bool is_doubtful = false;
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      const __mmask16 which = k + 1 == kVectors ? last : 0xffff;
      if constexpr (kSource == Source::kSums) {
        x[k] = _mm512_cvtepi32_ps(_mm512_loadu_si512(from + 64 * k));
      } else if constexpr (kSource == Source::kFloats) {
        x[k] = _mm512_maskz_loadu_ps(which, from + 64 * k);
      } else {
        x[k] = LoadBytes(from + 16 * k, which, b.x_is_signed);
      }
    }
#pragma GCC unroll 2
    for (int s = 0; s < kStages; ++s) {
      __m512 distance = _mm512_setzero_ps();
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        // Columns behind the last one have no doubts.
        const __mmask16 which = k + 1 == kVectors ? last : 0xffff;
        const StageColumns& stage = b.stages[s];
        const auto with_other = [&](__m512 sum) {
          return _mm512_fmadd_ps(LoadBytes(other + 16 * k, which, stage.other_is_signed),
                                 other_factor[s], sum);
        };
        __m512 rest = addend[s][k];
        if (stage.has_other && !stage.other_is_after) rest = with_other(rest);
        __m512 number = _mm512_fmadd_ps(x[k], factor[s][k], rest);
        if (stage.slope != nullptr) {
          const __mmask16 negative = _mm512_cmp_ps_mask(number, _mm512_setzero_ps(), _CMP_LT_OQ);
          number =
              _mm512_mask_mul_ps(number, negative, number, _mm512_loadu_ps(stage.slope + 16 * k));
          __m512 after = _mm512_loadu_ps(stage.after + 16 * k);
          if (stage.other_is_after) after = with_other(after);
          number = _mm512_add_ps(number, after);
        }
        if (kSource == Source::kFloats && s == 0) {
          is_doubtful =
              is_doubtful || _mm512_mask_cmp_ps_mask(which, number, number, _CMP_UNORD_Q) != 0;
        }
        const bool is_last = s + 1 == kStages;
        if (!is_last || !kSaturates) {
          number = _mm512_min_ps(_mm512_max_ps(number, low[s]), high[s]);
        }
        const __m512 from_nearest = _mm512_maskz_reduce_ps(which, number, kNearest);
        distance = _mm512_range_ps(distance, from_nearest, kGreaterMagnitude);
        if (is_last) {
          numbers[k] = _mm512_cvt_roundps_epi32(number, kNearest);
        } else {
          x[k] = _mm512_sub_ps(number, from_nearest);
        }
      }
      is_doubtful = is_doubtful || _mm512_cmp_ps_mask(distance, _mm512_set1_ps(b.stages[s].reach),
                                                      _CMP_NLE_UQ) != 0;
    }
    doubtful[found] = i;
    if (is_doubtful) {
      ++found;
      continue;
    }
    StoreBytes<kVectors>(numbers, b.y_is_signed, last, b.y + i * b.y_step);
  }
  return found;
}

using Runner = int64_t (*)(const RequantizedBlock&, __mmask16, int64_t*);
template <int kStages, bool kSaturates, Source kSource>
constexpr Runner kRunners[] = {
    RunVectors<1, kStages, kSaturates, kSource>, RunVectors<2, kStages, kSaturates, kSource>,
    RunVectors<3, kStages, kSaturates, kSource>, RunVectors<4, kStages, kSaturates, kSource>};

template <Source kSource>
const Runner* RunnersFor(const RequantizedBlock& b) {
  const bool saturates = b.saturates && kSource != Source::kFloats;
  if (b.num_stages == 1)
    return saturates ? kRunners<1, true, kSource> : kRunners<1, false, kSource>;
  return saturates ? kRunners<2, true, kSource> : kRunners<2, false, kSource>;
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

}  // namespace

int64_t RunBlock(const RequantizedBlock& b, int64_t* doubtful) {
  const int64_t vectors = (b.columns + 15) / 16;
  const auto last = static_cast<__mmask16>((1u << (b.columns - 16 * (vectors - 1))) - 1);
  const Runner* runners = b.source == Source::kSums     ? RunnersFor<Source::kSums>(b)
                          : b.source == Source::kFloats ? RunnersFor<Source::kFloats>(b)
                                                        : RunnersFor<Source::kBytes>(b);
  return runners[vectors - 1](b, last, doubtful);
}

#else

int64_t RunBlock(const RequantizedBlock&, int64_t*) { return 0; }  // never called

#endif

}  // namespace lemma::kernels
