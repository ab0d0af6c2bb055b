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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr double kRounding = 0x1.1p-24;  // more than what a rounding changes, of 1

// What some steps give without their roundings: x * factor + other * other_factor + addend, within
// [low, high].
struct Exact {
  double factor = 1, other_factor = 0, addend = 0, low = -kInfinity, high = kInfinity;
  double parts = 0;  // a bound on the sum of the magnitudes of all terms but the first
  int roundings = 0;
  double other_error = 0;   // of the second term, by its own roundings
  bool is_integer = false;  // of at most 9 bits

  bool is_clipped() const { return std::isfinite(low) || std::isfinite(high); }
};

// Neither so large nor so small that a product with such numbers overflows or loses precision,
// where the result is not beyond its bounds.
bool IsPlain(double x) { return std::abs(x) > 0x1p-40 && std::abs(x) < 0x1p+40; }

bool Multiply(double by, Exact* e) {
  if (!IsPlain(by) || (by < 0 && e->is_clipped())) return false;
  for (double* part : {&e->factor, &e->other_factor, &e->addend}) *part *= by;
  e->parts *= std::abs(by);
  e->other_error *= std::abs(by);
  e->low *= std::abs(by);
  e->high *= std::abs(by);
  ++e->roundings;
  e->is_integer = false;
  return IsPlain(e->factor);
}

bool Add(double number, Exact* e) {
  if (!(std::abs(number) < 0x1p+40)) return false;
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

enum class SourceKind { kSums, kFloats, kBytes };

double DistanceToHalf(double x) { return 0.5 - std::abs(x - std::nearbyint(x)); }

#if defined(__x86_64__)

// After all headers: an inline function of theirs must not use instructions that a machine may
// lack.
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")

// A stage from some column on.
struct StageColumns {
  const float *factor, *addend;
  float reach, other_factor, low, high;
  bool has_other, other_is_signed;
};

struct Block {
  const char* x;
  int64_t rows, x_step;  // in bytes
  const char* other;
  int64_t other_step;
  StageColumns stages[2];
  bool x_is_signed, y_is_signed;
  __mmask16 last;  // the columns of the last vector
  char* y;
  int64_t y_step;
};

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

// Writes the numbers of the rows that hold a doubtful number to `doubtful`, and returns how many
// these are; their results are not stored. `doubtful` must have room for rows + 1 numbers.
template <int kVectors, int kStages, bool kSaturates, SourceKind kSource>
int64_t RunBlock(const Block& b, int64_t* doubtful) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
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
    bool far = false;
#pragma GCC unroll 4
    for (int k = 0; k < kVectors; ++k) {
      const __mmask16 which = k + 1 == kVectors ? b.last : 0xffff;
      if constexpr (kSource == SourceKind::kSums) {
        x[k] = _mm512_cvtepi32_ps(_mm512_loadu_si512(from + 64 * k));
      } else if constexpr (kSource == SourceKind::kFloats) {
        x[k] = _mm512_maskz_loadu_ps(which, from + 64 * k);
        far = far || _mm512_cmp_ps_mask(x[k], x[k], _CMP_UNORD_Q) != 0;
      } else {
        x[k] = LoadBytes(from + 16 * k, which, b.x_is_signed);
      }
    }
#pragma GCC unroll 2
    for (int s = 0; s < kStages; ++s) {
      __m512 distance = _mm512_setzero_ps();
#pragma GCC unroll 4
      for (int k = 0; k < kVectors; ++k) {
        __m512 rest = addend[s][k];
        if (b.stages[s].has_other) {
          const __m512 y = LoadBytes(other + 16 * k, k + 1 == kVectors ? b.last : 0xffff,
                                     b.stages[s].other_is_signed);
          rest = _mm512_fmadd_ps(y, other_factor[s], rest);
        }
        __m512 number = _mm512_fmadd_ps(x[k], factor[s][k], rest);
        const bool is_last = s + 1 == kStages;
        if (!is_last || !kSaturates) {
          number = _mm512_min_ps(_mm512_max_ps(number, low[s]), high[s]);
        }
        const __m512 from_nearest = _mm512_reduce_ps(number, kNearest);
        distance = _mm512_range_ps(distance, from_nearest, 0x0b);  // the greater magnitude
        if (is_last) {
          numbers[k] = _mm512_cvt_roundps_epi32(number, kNearest);
        } else {
          x[k] = _mm512_sub_ps(number, from_nearest);
        }
      }
      far =
          far || _mm512_cmp_ps_mask(distance, _mm512_set1_ps(b.stages[s].reach), _CMP_NLE_UQ) != 0;
    }
    doubtful[found] = i;
    if (far) {
      ++found;
      continue;
    }
    StoreBytes<kVectors>(numbers, b.y_is_signed, b.last, b.y + i * b.y_step);
  }
  return found;
}

using Runner = int64_t (*)(const Block&, int64_t*);
template <int kStages, bool kSaturates, SourceKind kSource>
constexpr Runner kRunners[] = {
    RunBlock<1, kStages, kSaturates, kSource>, RunBlock<2, kStages, kSaturates, kSource>,
    RunBlock<3, kStages, kSaturates, kSource>, RunBlock<4, kStages, kSaturates, kSource>};

template <SourceKind kSource>
Runner RunnerFor(int64_t vectors, size_t stages, bool saturates) {
  // Infinity is no number of 32 bits.
  if (kSource == SourceKind::kFloats) saturates = false;
  if (stages == 1) {
    return saturates ? kRunners<1, true, kSource>[vectors - 1]
                     : kRunners<1, false, kSource>[vectors - 1];
  }
  return saturates ? kRunners<2, true, kSource>[vectors - 1]
                   : kRunners<2, false, kSource>[vectors - 1];
}

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
    if (scale != nullptr && !Multiply(scale[column], &e_)) return false;
    if (shift != nullptr && !Add(shift[column], &e_)) return false;
    size_t i = 0;
    if (result_->SizeOfSource() == 1) {
      e_.is_integer = true;
      i = 2;
    }
    for (; i + 1 < steps_.size(); ++i) {
      if (!AddStep(steps_[i])) return false;
    }
    const ChainStep& last = steps_.back();
    return last.kind == Kind::kQuantize && !last.on_other && EndStage(last, true);
  }

  // Whether few enough numbers are doubtful, if their fractions are spread evenly.
  bool is_useful() const { return doubts_ < 0.2; }

 private:
  bool AddStep(const ChainStep& s) {
    switch (s.kind) {
      case Kind::kQuantize:
        return !s.on_other && EndStage(s, false);
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
    const double least = other_is_signed_ ? -128 : 0;
    const double most = std::max(std::abs(least * other_.factor + other_.addend),
                                 std::abs((least + 255) * other_.factor + other_.addend));
    e_.parts += most;
    e_.other_error = other_.roundings * kRounding * most;
    ++e_.roundings;
    e_.is_integer = false;
    return true;
  }

  // The result of the last stage includes its offset.
  bool EndStage(const ChainStep& s, bool is_last) {
    const bool offset_fits =
        s.offset == std::nearbyint(s.offset) && s.low <= s.offset && s.offset <= s.high;
    if (stage_ == 2 || !offset_fits || !(s.number > 0) || !IsPlain(s.number)) return false;
    if (!Multiply(1 / static_cast<double>(s.number), &e_)) return false;
    Clip(static_cast<double>(s.low) - s.offset, static_cast<double>(s.high) - s.offset, &e_);
    // Where the exact result is not beyond its bounds by 2 or more, no number on the way is greater
    // than `most`, in units of the result. The fast computation rounds the two factors, the addend
    // and two sums; a bound is rounded too.
    const double offset = is_last ? s.offset : 0;
    const double bound = std::max(std::abs(e_.low), std::abs(e_.high)) + 2;
    const double most = bound + e_.parts;
    e_.addend += offset;
    e_.low += offset;
    e_.high += offset;
    const double error =
        e_.other_error + kRounding * ((e_.roundings + 3) * most + 2 * (bound + std::abs(offset)) +
                                      255 * std::abs(e_.other_factor) + std::abs(e_.addend));
    // All numbers at a bound would be doubtful.
    const bool is_halfway =
        DistanceToHalf(e_.low) < 4 * error || DistanceToHalf(e_.high) < 4 * error;
    if (!(error < 0.01) || is_halfway || !IsPlain(e_.factor)) return false;
    if (e_.other_factor != 0 && !IsPlain(e_.other_factor)) return false;
    if (column_ == 0) OpenStage();
    Stage& stage = result_->stages_[static_cast<size_t>(stage_++)];
    if (stage.low != static_cast<float>(e_.low) || stage.high != static_cast<float>(e_.high) ||
        stage.other_factor != static_cast<float>(e_.other_factor)) {
      return false;
    }
    const auto at = static_cast<size_t>(column_);
    stage.factor[at] = static_cast<float>(e_.factor);
    stage.addend[at] = static_cast<float>(e_.addend);
    float& reach = stage.reach[at / kBlock];
    reach = std::min(reach, static_cast<float>(0.5 - error - 0x1p-24));
    doubts_ += 2 * error * kBlock / static_cast<double>(columns_);
    if (is_last) {
      const bool is_signed = s.low < 0;
      result_->saturates_ = result_->saturates_ &&
                            std::nearbyint(e_.low) == (is_signed ? -128 : 0) &&
                            std::nearbyint(e_.high) == (is_signed ? 127 : 255) &&
                            std::abs(e_.factor) * 0x1p31 + most + bound < 0x1p30;
    }
    // The next stage begins with the rounded number plus the offset.
    e_ = Exact();
    e_.is_integer = true;
    e_.addend = s.offset;
    e_.parts = std::abs(e_.addend);
    return true;
  }

  void OpenStage() {
    const auto blocks = static_cast<size_t>((columns_ + kBlock - 1) / kBlock);
    Stage stage;
    stage.factor.assign(blocks * kBlock, 0);
    stage.addend.assign(blocks * kBlock, 0);
    stage.reach.assign(blocks, 0.5f);
    stage.low = static_cast<float>(e_.low);
    stage.high = static_cast<float>(e_.high);
    stage.has_other = e_.other_factor != 0;
    stage.other_is_signed = other_is_signed_;
    stage.other_factor = static_cast<float>(e_.other_factor);
    result_->stages_.push_back(std::move(stage));
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

std::optional<Requantization> Requantization::Of(Start start, const float* scale,
                                                 const float* shift, int64_t columns,
                                                 absl::Span<const ChainStep> steps) {
  if (steps.empty() || columns == 0) return std::nullopt;
  Requantization r;
  r.source_ = start == Start::kSums ? Source::kSums : Source::kFloats;
  if (steps.size() > 2 && steps[1].kind == Kind::kTakeOther) {
    const bool is_unsigned = steps[0].kind == Kind::kLoadU8;
    if (!is_unsigned && steps[0].kind != Kind::kLoadI8) return std::nullopt;
    r.source_ = is_unsigned ? Source::kU8 : Source::kI8;
  }
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

std::optional<Requantization> Requantization::OfElements(absl::Span<const ChainStep> steps) {
  for (const ChainStep& s : steps) {
    if (IsVector(s.kind)) return std::nullopt;
  }
  std::optional<Requantization> r = Of(Start::kFloats, nullptr, nullptr, kBlock, steps);
  if (r) r->has_one_factor_ = true;
  return r;
}

void Requantization::RunExactly(const char* x, int64_t first, int64_t columns, const char* other,
                                char* y) const {
  alignas(64) int32_t block[kBlock];
  if (SizeOfSource() == 4) std::memcpy(block, x, static_cast<size_t>(columns) * sizeof(int32_t));
  if (source_ == Source::kSums) {
    ScaleTile(block, 1, columns, columns, scale_.empty() ? nullptr : scale_.data() + first,
              shift_.empty() ? nullptr : shift_.data() + first);
  }
  std::vector<ChainStep> steps = steps_;
  auto vector = vectors_.begin();
  bool is_x = SizeOfSource() == 1;  // whether the next load is of x
  for (ChainStep& s : steps) {
    if (s.kind == Kind::kLoadVector) s.data = (vector++)->data() + first;
    if (s.kind != Kind::kLoadU8 && s.kind != Kind::kLoadI8) continue;
    s.data = is_x ? x : other;
    is_x = false;
  }
  const ChainResult result = steps.back().low < 0 ? ChainResult::kI8 : ChainResult::kU8;
  ApplyChain(SizeOfSource() == 1 ? nullptr : reinterpret_cast<const float*>(block), columns, 1,
             columns, steps.data(), static_cast<int>(steps.size()), result, y, columns);
}

void Requantization::Run(const void* x, int64_t x_step, int64_t rows, int64_t first,
                         int64_t columns, const void* other, int64_t other_step, void* y,
                         int64_t y_step, IntegerIsa isa) const {
  const auto behind = [](const void* p, int64_t bytes) {
    return p == nullptr ? nullptr : static_cast<const char*>(p) + bytes;
  };
  const int64_t size = SizeOfSource();
  if (has_one_factor_ && rows == 1 && columns > kBlock) {
    // Shorter rows, so that a block has several.
    const int64_t whole = columns / kBlock, done = whole * kBlock;
    Run(x, kBlock, whole, 0, kBlock, other, kBlock, y, kBlock, isa);
    if (done == columns) return;
    return Run(behind(x, done * size), 0, 1, 0, columns - done, behind(other, done), 0,
               static_cast<char*>(y) + done, 0, isa);
  }
  constexpr int64_t kRows = 64;
  for (int64_t j = 0; j < columns; j += kBlock) {
    const int64_t width = std::min(kBlock, columns - j), at = has_one_factor_ ? 0 : first + j;
    for (int64_t begin = 0; begin < rows; begin += kRows) {
      const int64_t count = std::min(kRows, rows - begin);
      const char* from = behind(x, (begin * x_step + j) * size);
      const char* loaded = behind(other, begin * other_step + j);
      char* to = static_cast<char*>(y) + begin * y_step + j;
      const auto run_exactly = [&](int64_t i) {
        RunExactly(from + i * x_step * size, at, width, behind(loaded, i * other_step),
                   to + i * y_step);
      };
#if defined(__x86_64__)
      if (isa == IntegerIsa::kVnni) {
        const int64_t vectors = (width + 15) / 16;
        Block block;
        block.x = from;
        block.rows = count;
        block.x_step = x_step * size;
        block.other = loaded;
        block.other_step = other_step;
        block.x_is_signed = source_ == Source::kI8;
        block.y_is_signed = steps_.back().low < 0;
        block.last = static_cast<__mmask16>((1u << (width - 16 * (vectors - 1))) - 1);
        block.y = to;
        block.y_step = y_step;
        for (size_t s = 0; s < stages_.size(); ++s) {
          const Stage& stage = stages_[s];
          const auto c = static_cast<size_t>(at);
          const float reach = std::min(stage.reach[c / kBlock],
                                       stage.reach[(c + static_cast<size_t>(width) - 1) / kBlock]);
          block.stages[s] = {stage.factor.data() + c,
                             stage.addend.data() + c,
                             reach,
                             stage.other_factor,
                             stage.low,
                             stage.high,
                             stage.has_other,
                             stage.other_is_signed};
        }
        const Runner runner =
            source_ == Source::kSums
                ? RunnerFor<SourceKind::kSums>(vectors, stages_.size(), saturates_)
            : source_ == Source::kFloats
                ? RunnerFor<SourceKind::kFloats>(vectors, stages_.size(), saturates_)
                : RunnerFor<SourceKind::kBytes>(vectors, stages_.size(), saturates_);
        int64_t doubtful[kRows + 1];
        const int64_t found = runner(block, doubtful);
        for (int64_t n = 0; n < found; ++n) run_exactly(doubtful[n]);
        continue;
      }
#endif
      for (int64_t i = 0; i < count; ++i) run_exactly(i);
    }
  }
}

}  // namespace lemma::kernels
