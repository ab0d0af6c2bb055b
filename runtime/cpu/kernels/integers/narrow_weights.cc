#include "runtime/cpu/kernels/integers/narrow_weights.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/parallel.h"

namespace lemma::kernels {
namespace {

using Form = NarrowWeights::Form;

constexpr int64_t kRun = NarrowWeights::kRun;
constexpr int64_t BitsOf(Form form) {
  return form == Form::kFourBits ? 4 : form == Form::kEightBits ? 8 : 32;
}
constexpr int kMostRows = 4;  // that share the weights in registers

// Where the form kFourBits holds integer i of a column's run.
int64_t WordOf(int64_t column, int64_t i) { return column / 4 * 16 + i % 16; }
int64_t ShiftOf(int64_t column, int64_t i) { return column % 4 * 8 + (i < 16 ? 0 : 4); }

struct Bounds {
  float low = 0, high = 0;
};

// What is known of each run of each column.
struct RunsOfColumns {
  std::vector<float> scales;   // [runs, columns]
  std::vector<Bounds> bounds;  // [runs, columns]
  bool one_scale = true;       // each run has one finite scale
};

RunsOfColumns Examine(const float* integers, const float* scales, int64_t depth, int64_t columns,
                      int threads) {
  const int64_t runs = (depth + kRun - 1) / kRun;
  RunsOfColumns result;
  result.scales.resize(runs * columns);
  result.bounds.resize(runs * columns);
  std::vector<char> one_scale(runs, 1);
  ParallelFor(threads, runs, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      float* scale = &result.scales[r * columns];
      Bounds* bounds = &result.bounds[r * columns];
      for (int64_t k = r * kRun; k < std::min(depth, (r + 1) * kRun); ++k) {
        for (int64_t j = 0; j < columns; ++j) {
          const float q = integers[k * columns + j], s = scales[k * columns + j];
          if (k == r * kRun) {
            scale[j] = s;
            bounds[j] = {q, q};
          }
          // A zero of the other sign, as integer or scale, gives another weight.
          const bool same = s == scale[j] && std::signbit(s) == std::signbit(scale[j]);
          const bool is_minus_zero = q == 0 && std::signbit(q);
          if (!same || is_minus_zero || !std::isfinite(s)) one_scale[r] = 0;
          bounds[j] = {std::min(bounds[j].low, q), std::max(bounds[j].high, q)};
        }
      }
    }
  });
  result.one_scale = std::count(one_scale.begin(), one_scale.end(), 0) == 0;
  return result;
}

// The integers of a run are in [base, base + 2^bits). Numbers behind the end of a column, which are
// multiplied by 0, get the integer nearest to 0 there.
uint32_t CodeOf(float integer, float base) { return static_cast<uint32_t>(integer - base); }
uint32_t PaddingOf(float base, Form form) {
  return static_cast<uint32_t>(std::clamp(-base, 0.0f, form == Form::kFourBits ? 15.0f : 255.0f));
}
float UsualBase(Form form) { return form == Form::kFourBits ? -8.0f : -128.0f; }

// The narrowest form that holds all integers.
Form FormOf(const RunsOfColumns& runs, int64_t depth, int64_t columns) {
  if (!runs.one_scale) return Form::kFloats;
  // Where 0 is multiplied by a number behind the end, it must be finite.
  for (int64_t j = 0; depth % kRun != 0 && j < columns; ++j) {
    const size_t i = runs.bounds.size() - columns + j;
    if (!std::isfinite(runs.bounds[i].low * runs.scales[i]) ||
        !std::isfinite(runs.bounds[i].high * runs.scales[i])) {
      return Form::kFloats;
    }
  }
  float widest = 0;
  for (const Bounds& b : runs.bounds) widest = std::max(widest, b.high - b.low);
  return widest <= 15 ? Form::kFourBits : widest <= 255 ? Form::kEightBits : Form::kFloats;
}

}  // namespace

NarrowWeights NarrowWeights::Pack(const float* integers, const float* scales, int64_t depth,
                                  int64_t columns, int threads) {
  NarrowWeights w;
  w.depth_ = depth;
  w.columns_ = columns;
  const RunsOfColumns all = Examine(integers, scales, depth, columns, threads);
  w.form_ = FormOf(all, depth, columns);
  const int64_t runs = w.runs(), groups = w.groups();
  // The base of each run, unless the usual one serves all.
  std::vector<float> bases;
  if (w.form_ != Form::kFloats) {
    const float usual = UsualBase(w.form_), most = w.form_ == Form::kFourBits ? 15 : 255;
    const bool is_usual = std::all_of(all.bounds.begin(), all.bounds.end(), [&](const Bounds& b) {
      return b.low >= usual && b.high <= usual + most;
    });
    if (!is_usual) {
      for (const Bounds& b : all.bounds) bases.push_back(b.low);
    }
  }
  if (w.form_ != Form::kFloats) {
    // Adjacent runs share what they have in common, such as the scale of a whole column.
    const auto shared = [&](int64_t count) {
      for (int64_t r = 0; r < runs; ++r) {
        const int64_t at = r * columns, first = r / count * count * columns;
        if (std::memcmp(&all.scales[at], &all.scales[first], columns * sizeof(float)) != 0 ||
            (!bases.empty() &&
             std::memcmp(&bases[at], &bases[first], columns * sizeof(float)) != 0)) {
          return false;
        }
      }
      return true;
    };
    while (w.runs_per_scale_ < runs && shared(2 * w.runs_per_scale_)) w.runs_per_scale_ *= 2;
    const int64_t count = w.scales_per_group();
    w.scales_.assign(groups * count * kColumns, 0);
    if (!bases.empty()) w.bases_.assign(groups * count * kColumns, 0);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t n = 0; n < count; ++n) {
        const int64_t to = (j / kColumns * count + n) * kColumns + j % kColumns;
        const int64_t from = n * w.runs_per_scale_ * columns + j;
        w.scales_[to] = all.scales[from];
        if (!bases.empty()) w.bases_[to] = bases[from];
      }
    }
  }
  const int64_t words = w.words();
  w.weights_.assign(groups * runs * words, 0);
  ParallelFor(threads, groups, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      for (int64_t r = 0; r < runs; ++r) {
        uint32_t* to = &w.weights_[(g * runs + r) * words];
        for (int64_t c = 0; c < std::min(kColumns, columns - g * kColumns); ++c) {
          const int64_t j = g * kColumns + c;
          const float base = bases.empty() ? UsualBase(w.form_) : bases[r * columns + j];
          for (int64_t i = 0; i < kRun; ++i) {
            const bool is_behind = r * kRun + i >= depth;
            const int64_t from = (r * kRun + i) * columns + j;
            if (w.form_ == Form::kFloats) {
              const float weight = is_behind ? 0 : integers[from] * scales[from];
              std::memcpy(&to[c * kRun + i], &weight, sizeof weight);
              continue;
            }
            const uint32_t code =
                is_behind ? PaddingOf(base, w.form_) : CodeOf(integers[from], base);
            if (w.form_ == Form::kFourBits) {
              to[WordOf(c, i)] |= code << ShiftOf(c, i);
            } else {
              reinterpret_cast<uint8_t*>(to)[c * kRun + i] = static_cast<uint8_t>(code);
            }
          }
        }
      }
    }
  });
  return w;
}

float NarrowWeights::Stored(int64_t group, int64_t column, int64_t k) const {
  const int64_t r = k / kRun, i = k % kRun;
  const uint32_t* from = &weights_[(group * runs() + r) * words()];
  if (form_ == Form::kFloats) {
    float weight;
    std::memcpy(&weight, &from[column * kRun + i], sizeof weight);
    return weight;
  }
  const uint32_t code = form_ == Form::kFourBits
                            ? from[WordOf(column, i)] >> ShiftOf(column, i) & 15
                            : reinterpret_cast<const uint8_t*>(from)[column * kRun + i];
  const int64_t at = (group * scales_per_group() + r / runs_per_scale_) * kColumns + column;
  return static_cast<float>(code) + (bases_.empty() ? UsualBase(form_) : bases_[at]);
}

float NarrowWeights::At(int64_t k, int64_t j) const {
  const int64_t group = j / kColumns, column = j % kColumns;
  const float stored = Stored(group, column, k);
  if (form_ == Form::kFloats) return stored;
  const int64_t n = k / kRun / runs_per_scale_;
  return stored * scales_[(group * scales_per_group() + n) * kColumns + column];
}

#if defined(__x86_64__)

// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif

// sums[row * kColumns + c] for rows < kRows and for c < 8 if kRows is 1, c < 4 otherwise: the sums
// of the group's columns that begin at `column`.
template <Form kForm, int kRows>
void NarrowWeights::MultiplyRows(const float* x, int64_t x_step, int64_t group, int64_t column,
                                 float* sums) const {
  constexpr int kC = kRows == 1 ? 8 : 4;
  // Far enough ahead for the latency of memory.
  constexpr int64_t kAhead = 8192;
  __m512 acc[kRows][kC];
#pragma GCC unroll 4
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int c = 0; c < kC; ++c) acc[m][c] = _mm512_setzero_ps();
  }
  const int64_t all = runs(), step = words();
  const uint32_t* w = &weights_[group * all * step + step / kColumns * column];
  const int64_t first_scale = group * scales_per_group() * kColumns + column;
  const float* scale = scales_.data() + first_scale;
  const float* base = bases_.empty() ? nullptr : bases_.data() + first_scale;
  const __m512 count = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const float usual = UsualBase(kForm);
  for (int64_t r = 0; r < all;) {
    const int64_t end = kForm == Form::kFloats ? all : std::min(all, r + runs_per_scale_);
    // In the form kFourBits, the 16 weights that a run may have; otherwise the scale.
    __m512 table[kC], bases[kC];
    if constexpr (kForm != Form::kFloats) {
#pragma GCC unroll 8
      for (int c = 0; c < kC; ++c) {
        table[c] = _mm512_set1_ps(scale[c]);
        bases[c] = _mm512_set1_ps(base == nullptr ? usual : base[c]);
        if constexpr (kForm == Form::kFourBits) {
          table[c] = _mm512_mul_ps(_mm512_add_ps(count, bases[c]), table[c]);
        }
      }
      _mm_prefetch(reinterpret_cast<const char*>(scale) + kAhead / 4, _MM_HINT_T0);
      scale += kColumns;
      if (base != nullptr) base += kColumns;
    }
    for (; r < end; ++r, w += step) {
      __m512 low[kRows], high[kRows];
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) {
        low[m] = _mm512_loadu_ps(x + m * x_step + r * kRun);
        high[m] = _mm512_loadu_ps(x + m * x_step + r * kRun + 16);
      }
      if (column == 0) {  // the other columns of the group lie between these
        for (int64_t n = 0; n < kRun * kColumns * BitsOf(kForm) / 512; ++n) {
          _mm_prefetch(reinterpret_cast<const char*>(w) + kAhead + 64 * n, _MM_HINT_T0);
        }
      }
      __m512i packed;
#pragma GCC unroll 8
      for (int c = 0; c < kC; ++c) {
        __m512 first, second;
        if constexpr (kForm == Form::kFourBits) {
          if (c % 4 == 0) {
            packed = _mm512_loadu_si512(w + c / 4 * 16);
#if !defined(__clang__)
            asm("" : "+v"(packed));  // otherwise every shift would load it again
#endif
          }
          // The permutation reads the lowest four bits of each index.
          first = _mm512_permutexvar_ps(_mm512_srli_epi32(packed, c % 4 * 8), table[c]);
          second = _mm512_permutexvar_ps(_mm512_srli_epi32(packed, c % 4 * 8 + 4), table[c]);
        } else if constexpr (kForm == Form::kEightBits) {
          const auto* bytes = reinterpret_cast<const __m128i*>(w) + 2 * c;
          const __m512i a = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes));
          const __m512i b = _mm512_cvtepu8_epi32(_mm_loadu_si128(bytes + 1));
          first = _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(a), bases[c]), table[c]);
          second = _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepi32_ps(b), bases[c]), table[c]);
        } else {
          first = _mm512_loadu_ps(w + c * kRun);
          second = _mm512_loadu_ps(w + c * kRun + 16);
        }
#pragma GCC unroll 4
        for (int m = 0; m < kRows; ++m) {
          acc[m][c] = _mm512_fmadd_ps(low[m], first, acc[m][c]);
          acc[m][c] = _mm512_fmadd_ps(high[m], second, acc[m][c]);
        }
      }
    }
  }
#pragma GCC unroll 4
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int c = 0; c < kC; ++c) sums[m * kColumns + c] = _mm512_reduce_add_ps(acc[m][c]);
  }
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

void NarrowWeights::MultiplyGroup(const float* x, int64_t rows, int64_t x_step, int64_t group,
                                  float* sums) const {
  const auto run = [&](auto form) {
    constexpr Form kForm = decltype(form)::value;
    if (rows == 1) return MultiplyRows<kForm, 1>(x, x_step, group, 0, sums);
    for (int64_t c = 0; c < kColumns; c += 4) {
      if (rows == 2) MultiplyRows<kForm, 2>(x, x_step, group, c, sums + c);
      if (rows == 3) MultiplyRows<kForm, 3>(x, x_step, group, c, sums + c);
      if (rows == 4) MultiplyRows<kForm, 4>(x, x_step, group, c, sums + c);
    }
  };
  switch (form_) {
    case Form::kFourBits:
      return run(std::integral_constant<Form, Form::kFourBits>());
    case Form::kEightBits:
      return run(std::integral_constant<Form, Form::kEightBits>());
    case Form::kFloats:
      return run(std::integral_constant<Form, Form::kFloats>());
  }
}

void NarrowWeights::Multiply(const float* x, int64_t rows, int64_t x_step, int64_t first,
                             int64_t last, float* y, int64_t y_step) const {
  for (int64_t j = first; j < last; j += kColumns) {
    for (int64_t i = 0; i < rows; i += kMostRows) {
      float sums[kMostRows * kColumns];
      const int64_t count = std::min<int64_t>(kMostRows, rows - i);
      MultiplyGroup(x + i * x_step, count, x_step, j / kColumns, sums);
      for (int64_t m = 0; m < count; ++m) {
        std::copy_n(sums + m * kColumns, std::min(kColumns, last - j), y + (i + m) * y_step + j);
      }
    }
  }
}

#else

void NarrowWeights::Multiply(const float*, int64_t, int64_t, int64_t, int64_t, float*,
                             int64_t) const {}

#endif

}  // namespace lemma::kernels
