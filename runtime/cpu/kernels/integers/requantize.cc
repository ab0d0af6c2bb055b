#include "runtime/cpu/kernels/integers/requantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma::kernels {
namespace {

using Kind = ChainStep::Kind;

constexpr int64_t kBlock = 64;  // columns
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What some steps give without their roundings: x * factor + other * other_factor + addend, within
// [low, high]. `parts`: a bound on the magnitudes of all terms but the first. `roundings`: a bound
// on their number.
struct Exact {
  double factor = 1, other_factor = 0, addend = 0, parts = 0, low = -kInfinity, high = kInfinity;
  int roundings = 0;
  bool is_integer = false;  // of at most 9 bits

  bool is_clipped() const { return std::isfinite(low) || std::isfinite(high); }
};

// Neither so large nor so small that a float would lose precision.
bool IsPlain(double x) { return std::abs(x) > 0x1p-60 && std::abs(x) < 0x1p+60; }

bool Multiply(double by, Exact* e) {
  if (!IsPlain(by) || (by < 0 && e->is_clipped())) return false;
  for (double* part : {&e->factor, &e->other_factor, &e->addend}) *part *= by;
  e->parts *= std::abs(by);
  e->low *= std::abs(by);
  e->high *= std::abs(by);
  ++e->roundings;
  e->is_integer = false;
  return true;
}

bool Add(double number, Exact* e) {
  if (!(std::abs(number) < 0x1p+60)) return false;
  e->addend += number;
  e->low += number;
  e->high += number;
  if (e->is_integer && std::abs(number) < 256 && number == std::nearbyint(number)) {
    e->parts = std::abs(e->addend);  // without rounding
    return true;
  }
  e->parts += std::abs(number);
  ++e->roundings;
  e->is_integer = false;
  return true;
}

bool Clip(double least, double most, Exact* e) {
  if (!(least <= most)) return false;
  e->low = std::clamp(e->low, least, most);
  e->high = std::clamp(e->high, least, most);
  return true;
}

// Applies a step to `e`; false if it is none that Exact can express.
bool Follow(const ChainStep& s, Exact* e) {
  switch (s.kind) {
    case Kind::kAdd:
      return Add(s.number, e);
    case Kind::kSubtract:
      return Add(-static_cast<double>(s.number), e);
    case Kind::kMultiply:
      return Multiply(s.number, e);
    case Kind::kDivide:
      return IsPlain(s.number) && Multiply(1 / static_cast<double>(s.number), e);
    case Kind::kMin:
      return Clip(-kInfinity, s.number, e);
    case Kind::kMax:
      return Clip(s.number, kInfinity, e);
    case Kind::kClip:
      return Clip(s.low, s.high, e);
    default:
      return false;
  }
}

double DistanceToHalf(double x) { return 0.5 - std::abs(x - std::nearbyint(x)); }

#if defined(__x86_64__)

// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")

// A stage from some column on.
struct StageColumns {
  const float *factor, *addend, *reach;
  float other_factor, low, high;
  bool has_other, other_is_signed;
};

struct Block {
  const int32_t* sums;
  int64_t rows, step;
  const char* other;
  int64_t other_step;
  StageColumns stages[2];
  int32_t offset;
  bool is_signed;
  __mmask16 last;  // the columns of the last vector
  char* y;
  int64_t y_step;
};

inline __m512 LoadBytes(const char* from, __mmask16 which, bool is_signed) {
  const __m128i bytes = _mm_maskz_loadu_epi8(which, from);
  return _mm512_cvtepi32_ps(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
}

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
  for (int k = 0; k + 1 < kVectors; ++k) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + 16 * k), _mm512_cvtepi32_epi8(numbers[k]));
  }
  _mm512_mask_cvtepi32_storeu_epi8(y + 16 * (kVectors - 1), last, numbers[kVectors - 1]);
}

// Writes the numbers of the rows that hold a doubtful number to `doubtful`, and returns how many
// these are; their results are not stored. `doubtful` must have room for rows + 1 numbers.
template <int kVectors, int kStages>
int64_t RunBlock(const Block& b, int64_t* doubtful) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  __m512 factor[kStages][kVectors], addend[kStages][kVectors], reach[kStages][kVectors];
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
      reach[s][k] = _mm512_loadu_ps(b.stages[s].reach + 16 * k);
    }
  }
  const __m512i offset = _mm512_set1_epi32(b.offset);
  int64_t found = 0;
  for (int64_t i = 0; i < b.rows; ++i) {
    const int32_t* sums = b.sums + i * b.step;
    const char* other = b.other + i * b.other_step;
    __m512 x[kVectors];
    __mmask16 far = 0;
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      x[k] = _mm512_cvtepi32_ps(_mm512_loadu_si512(sums + 16 * k));
    }
#pragma GCC unroll 2
    for (int s = 0; s < kStages; ++s) {
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        __m512 rest = addend[s][k];
        if (b.stages[s].has_other) {
          const __m512 y = LoadBytes(other + 16 * k, k + 1 == kVectors ? b.last : 0xffff,
                                     b.stages[s].other_is_signed);
          rest = _mm512_fmadd_ps(y, other_factor[s], rest);
        }
        const __m512 number = _mm512_min_ps(
            _mm512_max_ps(_mm512_fmadd_ps(x[k], factor[s][k], rest), low[s]), high[s]);
        x[k] = _mm512_roundscale_ps(number, kNearest);
        const __m512 distance = _mm512_abs_ps(_mm512_sub_ps(number, x[k]));
        far |= _mm512_cmp_ps_mask(distance, reach[s][k], _CMP_NLE_UQ);
      }
    }
    doubtful[found] = i;
    if (far != 0) {
      ++found;
      continue;
    }
    __m512i numbers[kVectors];
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      numbers[k] = _mm512_add_epi32(_mm512_cvttps_epi32(x[k]), offset);
    }
    StoreBytes<kVectors>(numbers, b.is_signed, b.last, b.y + i * b.y_step);
  }
  return found;
}

using Runner = int64_t (*)(const Block&, int64_t*);
template <int kStages>
constexpr Runner kRunners[] = {RunBlock<1, kStages>, RunBlock<2, kStages>, RunBlock<3, kStages>,
                               RunBlock<4, kStages>};

#pragma GCC pop_options

#endif

}  // namespace

// Makes the stages, column by column.
class Requantization::Maker {
 public:
  Maker(absl::Span<const ChainStep> steps, int64_t columns, Requantization* result)
      : steps_(steps), columns_(columns), result_(result) {}

  bool AddColumn(int64_t column, const float* scale, const float* shift) {
    column_ = column;
    stage_ = 0;
    e_ = Exact();
    e_.roundings = 1;  // of the sum
    if (scale != nullptr && !Multiply(scale[column], &e_)) return false;
    if (shift != nullptr && !Add(shift[column], &e_)) return false;
    for (const ChainStep& s : steps_) {
      if (!AddStep(s)) return false;
    }
    return steps_.back().kind == Kind::kQuantize;
  }

  // Whether few enough numbers are doubtful, if their fractions are spread evenly.
  bool is_useful() const { return doubts_ < 0.2; }

 private:
  bool AddStep(const ChainStep& s) {
    switch (s.kind) {
      case Kind::kQuantize:
        return !s.on_other && EndStage(s);
      case Kind::kLoadVector:
        vector_ = static_cast<const float*>(s.data);
        return true;
      case Kind::kLoadU8:
      case Kind::kLoadI8:
        vector_ = nullptr;
        other_ = Exact();
        other_.is_integer = true;
        other_is_signed_ = s.kind == Kind::kLoadI8;
        return ++loads_ == 1 || column_ > 0;
      case Kind::kAddOther:
      case Kind::kSubtractOther:
        if (vector_ != nullptr) {
          const double number = vector_[column_];
          return !e_.is_clipped() && Add(s.kind == Kind::kAddOther ? number : -number, &e_);
        }
        return s.kind == Kind::kAddOther && AddOther();
      case Kind::kMultiplyOther:
        return vector_ != nullptr && !e_.is_clipped() && Multiply(vector_[column_], &e_);
      default:
        return Follow(s, s.on_other ? &other_ : &e_);
    }
  }

  bool AddOther() {
    const bool is_plain = !e_.is_clipped() && !other_.is_clipped() && e_.other_factor == 0;
    if (!is_plain) return false;
    e_.other_factor = other_.factor;
    e_.addend += other_.addend;
    e_.parts += other_.parts + 255 * std::abs(other_.factor);
    e_.roundings += other_.roundings + 1;
    e_.is_integer = false;
    return true;
  }

  bool EndStage(const ChainStep& s) {
    const bool offset_fits =
        s.offset == std::nearbyint(s.offset) && s.low <= s.offset && s.offset <= s.high;
    if (stage_ == 2 || !offset_fits || !(s.number > 0) || !IsPlain(s.number)) return false;
    if (!Multiply(1 / static_cast<double>(s.number), &e_)) return false;
    Clip(static_cast<double>(s.low) - s.offset, static_cast<double>(s.high) - s.offset, &e_);
    // A rounding changes a number by at most 2^-24 of it. Where the exact result is not beyond its
    // bounds by 2 or more, no number on the way is greater than the following one, in units of the
    // result. The fast computation rounds three factors, a bound, two sums and two products.
    const double most = std::max(std::abs(e_.low), std::abs(e_.high)) + 2 + 2 * e_.parts;
    const double error = (e_.roundings + 8) * 0x1.1p-24 * most;
    // All numbers at a bound would be doubtful.
    const bool is_halfway =
        DistanceToHalf(e_.low) < 4 * error || DistanceToHalf(e_.high) < 4 * error;
    if (!(error < 0.01) || is_halfway || !IsPlain(e_.factor)) return false;
    if (e_.other_factor != 0 && !IsPlain(e_.other_factor)) return false;
    if (column_ == 0) {
      const auto padded = static_cast<size_t>((columns_ + kBlock - 1) / kBlock * kBlock);
      Stage stage;
      stage.factor.assign(padded, 0);
      stage.addend.assign(padded, 0);
      stage.reach.assign(padded, 0.5f);
      stage.low = static_cast<float>(e_.low);
      stage.high = static_cast<float>(e_.high);
      stage.has_other = e_.other_factor != 0;
      stage.other_is_signed = other_is_signed_;
      stage.other_factor = static_cast<float>(e_.other_factor);
      result_->stages_.push_back(std::move(stage));
    }
    Stage& stage = result_->stages_[static_cast<size_t>(stage_++)];
    if (stage.low != static_cast<float>(e_.low) || stage.high != static_cast<float>(e_.high) ||
        stage.other_factor != static_cast<float>(e_.other_factor)) {
      return false;
    }
    const auto at = static_cast<size_t>(column_);
    stage.factor[at] = static_cast<float>(e_.factor);
    stage.addend[at] = static_cast<float>(e_.addend);
    stage.reach[at] = static_cast<float>(0.5 - error - 0x1p-24);
    doubts_ += 2 * error * kBlock / static_cast<double>(columns_);
    // The next stage begins with the rounded number plus the offset.
    e_ = Exact();
    e_.is_integer = true;
    e_.addend = s.offset;
    e_.parts = std::abs(e_.addend);
    result_->offset_ = static_cast<int32_t>(s.offset);
    return true;
  }

  const absl::Span<const ChainStep> steps_;
  const int64_t columns_;
  Requantization* const result_;
  int64_t column_ = 0;
  int stage_ = 0, loads_ = 0;
  Exact e_, other_;
  const float* vector_ = nullptr;  // what was loaded last, if it was a vector
  bool other_is_signed_ = false;
  double doubts_ = 0;  // in kBlock columns of a row
};

std::optional<Requantization> Requantization::Of(const float* scale, const float* shift,
                                                 int64_t columns,
                                                 absl::Span<const ChainStep> steps) {
  if (steps.empty() || columns == 0) return std::nullopt;
  Requantization r;
  Maker maker(steps, columns, &r);
  for (int64_t j = 0; j < columns; ++j) {
    if (!maker.AddColumn(j, scale, shift)) return std::nullopt;
  }
  if (!maker.is_useful()) return std::nullopt;
  if (scale != nullptr) r.scale_.assign(scale, scale + columns);
  if (shift != nullptr) r.shift_.assign(shift, shift + columns);
  r.steps_.assign(steps.begin(), steps.end());
  for (const ChainStep& s : steps) {
    if (s.kind != Kind::kLoadVector) continue;
    const auto* vector = static_cast<const float*>(s.data);
    r.vectors_.emplace_back(vector, vector + columns);
  }
  return r;
}

void Requantization::RunExactly(const int32_t* sums, int64_t first, int64_t columns,
                                const char* other, char* y) const {
  alignas(64) int32_t block[kBlock];
  std::memcpy(block, sums, static_cast<size_t>(columns) * sizeof(int32_t));
  ScaleTile(block, 1, columns, columns, scale_.empty() ? nullptr : scale_.data() + first,
            shift_.empty() ? nullptr : shift_.data() + first);
  std::vector<ChainStep> steps = steps_;
  auto vector = vectors_.begin();
  for (ChainStep& s : steps) {
    if (s.kind == Kind::kLoadVector) s.data = (vector++)->data() + first;
    if (s.kind == Kind::kLoadU8 || s.kind == Kind::kLoadI8) s.data = other;
  }
  const ChainResult result = steps.back().low < 0 ? ChainResult::kI8 : ChainResult::kU8;
  ApplyChain(reinterpret_cast<const float*>(block), columns, 1, columns, steps.data(),
             static_cast<int>(steps.size()), result, y, columns);
}

void Requantization::Run(const int32_t* sums, int64_t rows, int64_t step, int64_t first,
                         int64_t columns, const void* other, int64_t other_step, void* y,
                         int64_t y_step, IntegerIsa isa) const {
  constexpr int64_t kRows = 64;
  for (int64_t j = 0; j < columns; j += kBlock) {
    const int64_t width = std::min(kBlock, columns - j), at = first + j;
    for (int64_t begin = 0; begin < rows; begin += kRows) {
      const int64_t count = std::min(kRows, rows - begin);
      const int32_t* from = sums + begin * step + j;
      const char* loaded =
          other == nullptr ? nullptr : static_cast<const char*>(other) + begin * other_step + j;
      char* to = static_cast<char*>(y) + begin * y_step + j;
      const auto run_exactly = [&](int64_t i) {
        RunExactly(from + i * step, at, width, loaded == nullptr ? loaded : loaded + i * other_step,
                   to + i * y_step);
      };
#if defined(__x86_64__)
      if (isa == IntegerIsa::kVnni) {
        const int64_t vectors = (width + 15) / 16;
        const auto last = static_cast<__mmask16>((1u << (width - 16 * (vectors - 1))) - 1);
        Block block = {from, count, step,  loaded, other_step, {}, offset_, steps_.back().low < 0,
                       last, to,    y_step};
        for (size_t s = 0; s < stages_.size(); ++s) {
          const Stage& stage = stages_[s];
          block.stages[s] = {stage.factor.data() + at,
                             stage.addend.data() + at,
                             stage.reach.data() + at,
                             stage.other_factor,
                             stage.low,
                             stage.high,
                             stage.has_other,
                             stage.other_is_signed};
        }
        int64_t doubtful[kRows + 1];
        const auto* runners = stages_.size() == 1 ? kRunners<1> : kRunners<2>;
        const int64_t found = runners[vectors - 1](block, doubtful);
        for (int64_t n = 0; n < found; ++n) run_exactly(doubtful[n]);
        continue;
      }
#endif
      for (int64_t i = 0; i < count; ++i) run_exactly(i);
    }
  }
}

}  // namespace lemma::kernels
