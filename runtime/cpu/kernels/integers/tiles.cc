#include "runtime/cpu/kernels/integers/tiles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma::kernels {
namespace {

template <class T>
inline void WidenLoop(const T* from, int64_t n, int zero, int16_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<int16_t>(from[i] - zero);
}

// For machines without AVX2, and for reference.
void MultiplySlowly(const int16_t* const* rows, int64_t count, const Runs& runs,
                    const int16_t* panel, bool accumulate, int32_t* sums, int64_t step) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t row[kPanelColumns] = {};
    if (accumulate) std::memcpy(row, sums + i * step, sizeof row);
    const int16_t* b = panel;
    for (int64_t r = 0; r < runs.count; ++r) {
      const int16_t* a = rows[i] + runs.offsets[r];
      for (int64_t p = 0; p < runs.groups; ++p, b += 2 * kPanelColumns) {
        for (int64_t j = 0; j < kPanelColumns; ++j) {
          row[j] += static_cast<uint32_t>(a[2 * p] * b[2 * j] + a[2 * p + 1] * b[2 * j + 1]);
        }
      }
    }
    std::memcpy(sums + i * step, row, sizeof row);
  }
}

#if defined(__x86_64__)

inline int32_t PairAt(const int16_t* at) {
  int32_t pair;
  std::memcpy(&pair, at, sizeof pair);
  return pair;
}

// 6 rows by 16 columns keep 12 sums of 8 columns in registers.
template <int kRows>
__attribute__((target("avx2"))) void Multiply(const int16_t* const* rows, const Runs& runs,
                                              const int16_t* panel, bool accumulate, int32_t* sums,
                                              int64_t step) {
  __m256i sum[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    const auto* from = reinterpret_cast<const __m256i*>(sums + i * step);
    sum[i][0] = accumulate ? _mm256_loadu_si256(from) : _mm256_setzero_si256();
    sum[i][1] = accumulate ? _mm256_loadu_si256(from + 1) : _mm256_setzero_si256();
  }
  const int16_t* b = panel;
  for (int64_t r = 0; r < runs.count; ++r) {
    const int16_t* a[kRows];
    for (int i = 0; i < kRows; ++i) a[i] = rows[i] + runs.offsets[r];
    for (int64_t p = 0; p < runs.groups; ++p, b += 2 * kPanelColumns) {
      const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
      const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + kPanelColumns));
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        const __m256i pair = _mm256_set1_epi32(PairAt(a[i] + 2 * p));
        sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(pair, b0));
        sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(pair, b1));
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    auto* to = reinterpret_cast<__m256i*>(sums + i * step);
    _mm256_storeu_si256(to, sum[i][0]);
    _mm256_storeu_si256(to + 1, sum[i][1]);
  }
}

// The same with one register for the 16 columns of a row.
template <int kRows>
__attribute__((target("avx512f,avx512vnni"))) void MultiplyVnni(const int16_t* const* rows,
                                                                const Runs& runs,
                                                                const int16_t* panel,
                                                                bool accumulate, int32_t* sums,
                                                                int64_t step) {
  __m512i sum[kRows];
  for (int i = 0; i < kRows; ++i) {
    sum[i] = accumulate ? _mm512_loadu_si512(sums + i * step) : _mm512_setzero_si512();
  }
  const int16_t* b = panel;
  for (int64_t r = 0; r < runs.count; ++r) {
    const int16_t* a[kRows];
    for (int i = 0; i < kRows; ++i) a[i] = rows[i] + runs.offsets[r];
    for (int64_t p = 0; p < runs.groups; ++p, b += 2 * kPanelColumns) {
      const __m512i columns = _mm512_loadu_si512(b);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        sum[i] = _mm512_dpwssd_epi32(sum[i], _mm512_set1_epi32(PairAt(a[i] + 2 * p)), columns);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) _mm512_storeu_si512(sums + i * step, sum[i]);
}

inline int32_t QuadAt(const uint8_t* at) {
  int32_t quad;
  std::memcpy(&quad, at, sizeof quad);
  return quad;
}

// kPanels panels of 16 columns, `panel_step` bytes apart.
template <int kRows, int kPanels>
__attribute__((target("avx512f,avx512vnni"))) void MultiplyBytesVnni(
    const uint8_t* const* rows, const Runs& runs, const int8_t* panel, int64_t panel_step,
    const uint32_t* start, int32_t* sums, int64_t step) {
  __m512i sum[kRows][kPanels];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int n = 0; n < kPanels; ++n) {
      sum[i][n] = start == nullptr ? _mm512_loadu_si512(sums + i * step + n * kPanelColumns)
                                   : _mm512_loadu_si512(start + n * kPanelColumns);
    }
  }
  const int8_t* b = panel;
  for (int64_t r = 0; r < runs.count; ++r) {
    const uint8_t* a[kRows];
    for (int i = 0; i < kRows; ++i) a[i] = rows[i] + runs.offsets[r];
    for (int64_t p = 0; p < runs.groups; ++p, b += 4 * kPanelColumns) {
      __m512i columns[kPanels];
#pragma GCC unroll 2
      for (int n = 0; n < kPanels; ++n) columns[n] = _mm512_loadu_si512(b + n * panel_step);
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        const __m512i quad = _mm512_set1_epi32(QuadAt(a[i] + 4 * p));
#pragma GCC unroll 2
        for (int n = 0; n < kPanels; ++n) {
          sum[i][n] = _mm512_dpbusd_epi32(sum[i][n], quad, columns[n]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 2
    for (int n = 0; n < kPanels; ++n) {
      _mm512_storeu_si512(sums + i * step + n * kPanelColumns, sum[i][n]);
    }
  }
}

using ByteMultiplier = void (*)(const uint8_t* const*, const Runs&, const int8_t*, int64_t,
                                const uint32_t*, int32_t*, int64_t);
template <int kPanels>
constexpr ByteMultiplier kByteMultipliers[] = {
    MultiplyBytesVnni<1, kPanels>, MultiplyBytesVnni<2, kPanels>, MultiplyBytesVnni<3, kPanels>,
    MultiplyBytesVnni<4, kPanels>, MultiplyBytesVnni<5, kPanels>, MultiplyBytesVnni<6, kPanels>,
    MultiplyBytesVnni<7, kPanels>, MultiplyBytesVnni<8, kPanels>};

using Multiplier = void (*)(const int16_t* const*, const Runs&, const int16_t*, bool, int32_t*,
                            int64_t);
constexpr Multiplier kMultipliers[] = {Multiply<1>, Multiply<2>, Multiply<3>,
                                       Multiply<4>, Multiply<5>, Multiply<6>};
// More rows would take more registers for their addresses than there are.
constexpr Multiplier kVnniMultipliers[] = {MultiplyVnni<1>, MultiplyVnni<2>, MultiplyVnni<3>,
                                           MultiplyVnni<4>, MultiplyVnni<5>, MultiplyVnni<6>,
                                           MultiplyVnni<7>, MultiplyVnni<8>};

__attribute__((target("avx2"))) void MultiplyChannelsAvx2(const int16_t* x, int64_t pixels,
                                                          int64_t pixel_step, const int64_t* taps,
                                                          int64_t pairs, const int16_t* weights,
                                                          int32_t* sums, int64_t step) {
  for (int64_t i = 0; i < pixels; ++i, x += pixel_step, sums += step) {
    __m256i low = _mm256_setzero_si256(), high = low;
    const auto* w = reinterpret_cast<const __m256i*>(weights);
    for (int64_t p = 0; p < pairs; ++p, w += 2) {
      const auto* first = reinterpret_cast<const __m256i*>(x + taps[2 * p]);
      const auto* second = reinterpret_cast<const __m256i*>(x + taps[2 * p + 1]);
      const __m256i a = _mm256_loadu_si256(first), b = _mm256_loadu_si256(second);
      // Channels 0 to 3 and 8 to 11, and the others.
      low = _mm256_add_epi32(low,
                             _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), _mm256_loadu_si256(w)));
      high = _mm256_add_epi32(
          high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), _mm256_loadu_si256(w + 1)));
    }
    auto* to = reinterpret_cast<__m256i*>(sums);
    _mm256_storeu_si256(to, _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(to + 1, _mm256_permute2x128_si256(low, high, 0x31));
  }
}

__attribute__((target("avx512f,avx512vnni"))) void MultiplyChannelsVnni(
    const int16_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps, int64_t pairs,
    const int16_t* weights, int32_t* sums, int64_t step) {
  for (int64_t i = 0; i < pixels; ++i, x += pixel_step, sums += step) {
    __m512i sum = _mm512_setzero_si512();
    const int16_t* w = weights;
    for (int64_t p = 0; p < pairs; ++p, w += 2 * kPanelColumns) {
      const auto* first = reinterpret_cast<const __m256i*>(x + taps[2 * p]);
      const auto* second = reinterpret_cast<const __m256i*>(x + taps[2 * p + 1]);
      const __m256i a = _mm256_loadu_si256(first), b = _mm256_loadu_si256(second);
      // Channels 0 to 3 and 8 to 11, then the others.
      const __m512i pairs_of_channels = _mm512_inserti64x4(
          _mm512_castsi256_si512(_mm256_unpacklo_epi16(a, b)), _mm256_unpackhi_epi16(a, b), 1);
      sum = _mm512_dpwssd_epi32(sum, pairs_of_channels, _mm512_loadu_si512(w));
    }
    // 0 to 3, 4 to 7, 8 to 11, 12 to 15.
    _mm512_storeu_si512(sums, _mm512_shuffle_i64x2(sum, sum, 0xd8));
  }
}

// kGroups groups of 4 taps, or `groups` of them if kGroups is 0.
template <int kGroups>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void MultiplyByteChannelsVnni(
    const uint8_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps, int64_t groups,
    const int8_t* weights, const uint32_t* start, int64_t channels, int32_t* sums, int64_t step) {
  __m512i first[4];  // in the order of ByteChannelWeight
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    alignas(64) uint32_t numbers[16];
    for (int i = 0; i < 16; ++i) numbers[i] = start[i / 4 * 16 + 4 * v + i % 4];
    first[v] = _mm512_load_si512(numbers);
  }
  if (kGroups > 0) groups = kGroups;
  for (int64_t i = 0; i < pixels; ++i, x += pixel_step, sums += step) {
    __m512i sum[4] = {first[0], first[1], first[2], first[3]};
    const int8_t* w = weights;
#pragma GCC unroll 3
    for (int64_t g = 0; g < groups; ++g, w += 4 * kByteChannels) {
      const __m512i a = _mm512_loadu_si512(x + taps[4 * g]);
      const __m512i b = _mm512_loadu_si512(x + taps[4 * g + 1]);
      const __m512i c = _mm512_loadu_si512(x + taps[4 * g + 2]);
      const __m512i d = _mm512_loadu_si512(x + taps[4 * g + 3]);
      // The four taps of a channel side by side.
      const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
      const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
      sum[0] =
          _mm512_dpbusd_epi32(sum[0], _mm512_unpacklo_epi16(ab_low, cd_low), _mm512_loadu_si512(w));
      sum[1] = _mm512_dpbusd_epi32(sum[1], _mm512_unpackhi_epi16(ab_low, cd_low),
                                   _mm512_loadu_si512(w + 64));
      sum[2] = _mm512_dpbusd_epi32(sum[2], _mm512_unpacklo_epi16(ab_high, cd_high),
                                   _mm512_loadu_si512(w + 128));
      sum[3] = _mm512_dpbusd_epi32(sum[3], _mm512_unpackhi_epi16(ab_high, cd_high),
                                   _mm512_loadu_si512(w + 192));
    }
    const __m512i low01 = _mm512_shuffle_i32x4(sum[0], sum[1], 0x44);
    const __m512i low23 = _mm512_shuffle_i32x4(sum[2], sum[3], 0x44);
    _mm512_storeu_si512(sums, _mm512_shuffle_i32x4(low01, low23, 0x88));
    if (channels <= 16) continue;
    _mm512_storeu_si512(sums + 16, _mm512_shuffle_i32x4(low01, low23, 0xdd));
    if (channels <= 32) continue;
    const __m512i high01 = _mm512_shuffle_i32x4(sum[0], sum[1], 0xee);
    const __m512i high23 = _mm512_shuffle_i32x4(sum[2], sum[3], 0xee);
    _mm512_storeu_si512(sums + 32, _mm512_shuffle_i32x4(high01, high23, 0x88));
    if (channels <= 48) continue;
    _mm512_storeu_si512(sums + 48, _mm512_shuffle_i32x4(high01, high23, 0xdd));
  }
}

// The first elements, 64 at a time; returns their number.
__attribute__((target("avx512f,avx512bw,avx512vbmi"))) int64_t LookUpVbmi(const uint8_t* from,
                                                                          int64_t n,
                                                                          const uint8_t* table,
                                                                          uint8_t* to) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i x = _mm512_loadu_si512(from + i);
    const __m512i low = _mm512_permutex2var_epi8(t0, x, t1);  // by bits 0 to 6
    const __m512i high = _mm512_permutex2var_epi8(t2, x, t3);
    _mm512_storeu_si512(to + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(x), low, high));
  }
  return i;
}
#endif

IntegerIsa IsaOfMachine() {
#if defined(__x86_64__)
  // The kernels use bytes and words, floats of AVX512DQ, and short vectors too.
  const bool has_vnni =
      __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  if (has_vnni) return IntegerIsa::kVnni;
  if (__builtin_cpu_supports("avx2") != 0) return IntegerIsa::kAvx2;
#endif
  return IntegerIsa::kNone;
}

// What the environment allows oneDNN, too.
IntegerIsa AllowedIsa() {
  for (const char* variable : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char* most = std::getenv(variable);
    if (most == nullptr) continue;
    for (const char* less : {"SSE41", "AVX"}) {
      if (std::strcmp(most, less) == 0) return IntegerIsa::kNone;
    }
    for (const char* less : {"AVX2", "AVX2_VNNI", "AVX512_MIC", "AVX512_CORE"}) {
      if (std::strcmp(most, less) == 0) return IntegerIsa::kAvx2;
    }
  }
  return IntegerIsa::kVnni;
}

}  // namespace

IntegerIsa BestIntegerIsa() {
  static const IntegerIsa best = std::min(IsaOfMachine(), AllowedIsa());
  return best;
}

__attribute__((target_clones("avx2", "default"))) void Widen(const uint8_t* from, int64_t n,
                                                             int zero, int16_t* to) {
  WidenLoop(from, n, zero, to);
}

__attribute__((target_clones("avx2", "default"))) void Widen(const int8_t* from, int64_t n,
                                                             int zero, int16_t* to) {
  WidenLoop(from, n, zero, to);
}

void CopyBytes(const uint8_t* from, int64_t n, uint8_t* to) {
  std::memcpy(to, from, static_cast<size_t>(n));
}

__attribute__((target_clones("avx2", "default"))) void CopyBytes(const int8_t* from, int64_t n,
                                                                 uint8_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint8_t>(from[i] + 128);
}

void LookUp(const uint8_t* from, int64_t n, const uint8_t* table, uint8_t* to) {
  int64_t i = 0;
#if defined(__x86_64__)
  static const bool has_vbmi =
      __builtin_cpu_supports("avx512vbmi") != 0 && BestIntegerIsa() == IntegerIsa::kVnni;
  if (has_vbmi) i = LookUpVbmi(from, n, table, to);
#endif
  for (; i < n; ++i) to[i] = table[from[i]];
}

void MultiplyTile(const int16_t* const* rows, int64_t count, const Runs& runs, const int16_t* panel,
                  bool accumulate, int32_t* sums, int64_t step, IntegerIsa isa) {
#if defined(__x86_64__)
  if (isa == IntegerIsa::kVnni) {
    return kVnniMultipliers[count - 1](rows, runs, panel, accumulate, sums, step);
  }
  if (isa == IntegerIsa::kAvx2) {
    return kMultipliers[count - 1](rows, runs, panel, accumulate, sums, step);
  }
#endif
  MultiplySlowly(rows, count, runs, panel, accumulate, sums, step);
}

void MultiplyBytes(const uint8_t* const* rows, int64_t count, const Runs& runs, const int8_t* panel,
                   int panels, int64_t panel_step, const uint32_t* start, int32_t* sums,
                   int64_t step) {
#if defined(__x86_64__)
  const ByteMultiplier* multipliers = panels == 2 ? kByteMultipliers<2> : kByteMultipliers<1>;
  multipliers[count - 1](rows, runs, panel, panel_step, start, sums, step);
#endif
}

void MultiplyByteChannels(const uint8_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps,
                          int64_t groups, const int8_t* weights, const uint32_t* start,
                          int64_t channels, int32_t* sums, int64_t step) {
#if defined(__x86_64__)
  // 3: windows of 3 x 3.
  const auto multiply = groups == 3 ? MultiplyByteChannelsVnni<3> : MultiplyByteChannelsVnni<0>;
  multiply(x, pixels, pixel_step, taps, groups, weights, start, channels, sums, step);
#endif
}

void MultiplyChannels(const int16_t* x, int64_t pixels, int64_t pixel_step, const int64_t* taps,
                      int64_t pairs, const int16_t* weights, int32_t* sums, int64_t step,
                      IntegerIsa isa) {
#if defined(__x86_64__)
  if (isa == IntegerIsa::kVnni) {
    return MultiplyChannelsVnni(x, pixels, pixel_step, taps, pairs, weights, sums, step);
  }
  if (isa == IntegerIsa::kAvx2) {
    return MultiplyChannelsAvx2(x, pixels, pixel_step, taps, pairs, weights, sums, step);
  }
#endif
  for (int64_t i = 0; i < pixels; ++i) {
    for (int64_t c = 0; c < kPanelColumns; ++c) {
      uint32_t sum = 0;
      for (int64_t t = 0; t < 2 * pairs; ++t) {
        sum +=
            static_cast<uint32_t>(x[i * pixel_step + taps[t] + c] * weights[ChannelWeight(t, c)]);
      }
      sums[i * step + c] = static_cast<int32_t>(sum);
    }
  }
}

namespace {

// Writes behind no number that is still to be read, since rows move to the front.
template <class Function>
inline void MapRows(int32_t* sums, int64_t rows, int64_t columns, int64_t step, Function f) {
  for (int64_t i = 0; i < rows; ++i) {
    const int32_t* from = sums + i * step;
    auto* to = reinterpret_cast<float*>(sums) + i * columns;
#pragma GCC ivdep
    for (int64_t j = 0; j < columns; ++j) to[j] = f(from[j], j);
  }
}

}  // namespace

void CompactTile(int32_t* sums, int64_t rows, int64_t columns, int64_t step) {
  if (step == columns) return;
  for (int64_t i = 1; i < rows; ++i) {
    std::memmove(sums + i * columns, sums + i * step, columns * sizeof(int32_t));
  }
}

__attribute__((target_clones("avx2", "default"))) void ScaleTile(int32_t* sums, int64_t rows,
                                                                 int64_t columns, int64_t step,
                                                                 const float* scale,
                                                                 const float* shift) {
  if (scale != nullptr && shift != nullptr) {
    MapRows(sums, rows, columns, step, [&](int32_t sum, int64_t j) {
      const float scaled = static_cast<float>(sum) * scale[j];
      return scaled + shift[j];
    });
  } else if (scale != nullptr) {
    // Not -0 where a scale is negative: a sum of several products is 0, not -0. (A single product
    // may be -0; it is 0 here, as in the products of floats.)
    MapRows(sums, rows, columns, step,
            [&](int32_t sum, int64_t j) { return static_cast<float>(sum) * scale[j] + 0.0f; });
  } else {
    MapRows(sums, rows, columns, step, [&](int32_t sum, int64_t j) {
      return shift == nullptr ? static_cast<float>(sum) : static_cast<float>(sum) + shift[j];
    });
  }
}

void ScaleTileWide(int32_t* sums, int64_t rows, int64_t columns, int64_t step, const double* scale,
                   const float* shift) {
  MapRows(sums, rows, columns, step, [&](int32_t sum, int64_t j) {
    const auto scaled = static_cast<float>(sum * scale[j]);
    return scaled + (shift == nullptr ? 0.0f : shift[j]);
  });
}

}  // namespace lemma::kernels
