#include "runtime/cpu/kernels/integers/requantization/requantize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/cpu/kernels/integers/requantization/requantize_block.h"

namespace lemma::kernels {
namespace {

using Kind = ChainStep::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr double kRounding = 0x1.1p-24;  // more than what a rounding changes, of 1

// What some steps give without their roundings: x * factor + other * other_factor + addend, within
// [low, high]. If it is bent: the sum of x * factor, `before` and, unless other_is_after, the term
// of `other`, times `slope` where this sum is negative; then the rest.
struct Affine {
  double factor = 1, other_factor = 0, addend = 0, low = -kInfinity, high = kInfinity;
  double parts = 0;  // a bound on the sum of the magnitudes of all terms but the first
  int roundings = 0;
  double other_error = 0;   // of the second term, by its own roundings
  double most_factor = 1;   // the largest magnitude that `factor` had
  bool is_integer = false;  // of at most 9 bits
  bool has_sum = false;     // whether a sum was rounded
  bool is_bent = false, other_is_after = false;
  double slope = 1, before = 0;

  bool is_clipped() const { return std::isfinite(low) || std::isfinite(high); }
  double steepness() const { return std::max(1.0, std::abs(slope)); }
};

// Neither so large nor so small that a product with such numbers overflows or loses precision,
// where the result is not beyond its bounds.
bool IsPlain(double x) { return std::abs(x) > 0x1p-40 && std::abs(x) < 0x1p+40; }

bool Multiply(double by, Affine* e) {
  if (!IsPlain(by) || (by < 0 && (e->is_clipped() || e->is_bent))) return false;
  for (double* part : {&e->factor, &e->other_factor, &e->addend, &e->before}) *part *= by;
  e->parts *= std::abs(by);
  e->other_error *= std::abs(by);
  e->low *= std::abs(by);
  e->high *= std::abs(by);
  e->most_factor = std::max(e->most_factor, std::abs(e->factor));
  ++e->roundings;
  e->is_integer = false;
  return IsPlain(e->factor);
}

bool Add(double number, Affine* e) {
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
  e->has_sum = true;
  return true;
}

bool Clip(double least, double most, Affine* e) {
  if (!(least <= most)) return false;
  e->low = std::clamp(e->low, least, most);
  e->high = std::clamp(e->high, least, most);
  return true;
}

// Multiplies negative numbers by `slope`. An error of the number so far becomes an error that is at
// most steepness() times as large, even if it changes the number's sign.
bool Bend(double slope, Affine* e) {
  if (e->is_bent || e->is_clipped() || (slope != 0 && !IsPlain(slope))) return false;
  e->is_bent = true;
  e->slope = slope;
  const double steepness = e->steepness();
  e->before = e->addend;
  e->addend = 0;
  e->parts *= steepness;
  e->other_error *= steepness;
  e->most_factor = std::max(e->most_factor, steepness * std::abs(e->factor));
  e->roundings += 5;  // two products and two sums; the numbers need not be negative together
  e->is_integer = false;
  return IsPlain(steepness * e->factor);
}

// Applies a step to `e`; false if it is none that Affine can express.
bool Follow(const ChainStep& s, Affine* e) {
  switch (s.kind) {
    case Kind::kAdd:
      return Add(s.number, e);
    case Kind::kSubtract:
      return Add(-static_cast<double>(s.number), e);
    case Kind::kMultiply:
      return Multiply(s.number, e);
    case Kind::kDivide:
      return IsPlain(s.number) && Multiply(1 / static_cast<double>(s.number), e);
    case Kind::kScaleNegative:
      return Bend(s.number, e);
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

}  // namespace

// Makes the stages, column by column.
class Requantization::Maker {
 public:
  Maker(absl::Span<const ChainStep> steps, int64_t columns, Requantization* result)
      : steps_(steps), columns_(columns), result_(result) {}

  bool AddColumn(int64_t column, const float* scale, const float* shift) {
    column_ = column;
    stage_ = 0;
    vector_ = nullptr;
    has_other_ = other_is_gate_ = gated_ = false;
    e_ = Affine();
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
    if (s.on_other && !has_other_) return false;
    switch (s.kind) {
      case Kind::kQuantize:
        return !s.on_other && EndStage(s, false);
      case Kind::kLoadVector:
        vector_ = static_cast<const float*>(s.data);
        has_other_ = other_is_gate_ = false;
        return true;
      case Kind::kLoadU8:
      case Kind::kLoadI8:
        Load(s.kind == Kind::kLoadI8, false);
        return ++loads_ == 1 || column_ > 0;
      case Kind::kLoadVectorU8:
      case Kind::kLoadVectorI8:
        Load(s.kind == Kind::kLoadVectorI8, true);
        return true;
      case Kind::kAddOther:
      case Kind::kSubtractOther:
        if (other_is_gate_) return false;
        if (vector_ != nullptr) {
          const double number = vector_[column_];
          return !e_.is_clipped() && Add(s.kind == Kind::kAddOther ? number : -number, &e_);
        }
        return s.kind == Kind::kAddOther && has_other_ && AddOther();
      case Kind::kMultiplyOther:
        if (other_is_gate_) return MultiplyGate();
        return vector_ != nullptr && !e_.is_clipped() && Multiply(vector_[column_], &e_);
      case Kind::kScaleNegativeOther:
        return !other_is_gate_ && vector_ != nullptr && MayBend(vector_[column_]) &&
               Bend(vector_[column_], &e_);
      default:
        if (s.kind == Kind::kScaleNegative && !MayBend(s.number)) return false;
        return Follow(s, s.on_other ? &other_ : &e_);
    }
  }

  // Step by step, given floats may overflow in front of a slope of 0, which makes NaN of them; here
  // they may not. Sums do not overflow.
  bool MayBend(double slope) const {
    return slope != 0 || result_->source_ != Source::kFloats ||
           (e_.most_factor <= 1 && e_.parts == 0);
  }

  void Load(bool is_signed, bool is_gate) {
    vector_ = nullptr;
    other_ = Affine();
    other_.is_integer = true;
    has_other_ = true;
    other_is_gate_ = is_gate;
    (is_gate ? result_->gates_are_signed_ : other_is_signed_) = is_signed;
  }

  // A gate is (integer - zero) * factor, so it is 0 or has full precision. The product must not
  // overflow where it is 0, and nothing that was added before is multiplied.
  bool MultiplyGate() {
    const bool is_first = !gated_ && stage_ == 0 && !e_.is_clipped() && e_.parts == 0 &&
                          e_.other_factor == 0 && e_.most_factor <= 1;
    if (!is_first || other_.is_clipped() || other_.has_sum || other_.is_bent) return false;
    if (e_.is_bent) return false;
    gated_ = true;
    result_->has_gates_ = true;
    result_->gate_factor_ = other_.factor;
    result_->gate_zero_ = static_cast<int>(std::lround(-other_.addend / other_.factor));
    // The product of factor and gate is rounded in the fast computation too.
    e_.roundings += other_.roundings + 2;
    e_.is_integer = false;
    return true;
  }

  bool AddOther() {
    const bool is_plain = !e_.is_clipped() && !other_.is_clipped() && e_.other_factor == 0;
    if (!is_plain || other_.has_sum || other_.is_bent) return false;
    e_.other_is_after = e_.is_bent;
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
    const double steepness = e_.steepness();
    const double error =
        e_.other_error + kRounding * ((e_.roundings + 3) * most + 2 * (bound + std::abs(offset)) +
                                      255 * steepness * std::abs(e_.other_factor) +
                                      steepness * std::abs(e_.before) + std::abs(e_.addend));
    // All numbers at a bound would be doubtful.
    const bool is_halfway =
        DistanceToHalf(e_.low) < 4 * error || DistanceToHalf(e_.high) < 4 * error;
    if (!(error < 0.01) || is_halfway || !IsPlain(e_.factor)) return false;
    // The factor times a gate that is not 0, which is less than 512 times the least one.
    const bool has_gate = gated_ && stage_ == 0;
    const double least_factor = std::abs(e_.factor * (has_gate ? result_->gate_factor_ : 1));
    const double greatest_factor = least_factor * steepness * (has_gate ? 512 : 1);
    if (!IsPlain(least_factor) || !IsPlain(greatest_factor)) return false;
    if (e_.other_factor != 0 && !IsPlain(e_.other_factor)) return false;
    if (column_ == 0) OpenStage();
    Stage& stage = result_->stages_[static_cast<size_t>(stage_++)];
    if (stage.low != static_cast<float>(e_.low) || stage.high != static_cast<float>(e_.high) ||
        stage.other_factor != static_cast<float>(e_.other_factor)) {
      return false;
    }
    const auto at = static_cast<size_t>(column_);
    stage.factor[at] = static_cast<float>(e_.factor);
    stage.addend[at] = static_cast<float>(e_.is_bent ? e_.before : e_.addend);
    if (e_.is_bent) {
      stage.slope[at] = static_cast<float>(e_.slope);
      stage.after[at] = static_cast<float>(e_.addend);
    }
    float& reach = stage.reach[at / kBlock];
    reach = std::min(reach, static_cast<float>(0.5 - error - 0x1p-24));
    doubts_ += 2 * error * kBlock / static_cast<double>(columns_);
    if (is_last) {
      const bool is_signed = s.low < 0;
      result_->saturates_ = result_->saturates_ &&
                            std::nearbyint(e_.low) == (is_signed ? -128 : 0) &&
                            std::nearbyint(e_.high) == (is_signed ? 127 : 255) &&
                            greatest_factor * 0x1p31 + most + bound < 0x1p30;
    }
    // The next stage begins with the rounded number plus the offset.
    e_ = Affine();
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
    if (e_.is_bent) stage.slope = stage.after = stage.addend;
    stage.reach.assign(blocks, 0.5f);
    stage.low = static_cast<float>(e_.low);
    stage.high = static_cast<float>(e_.high);
    stage.has_other = e_.other_factor != 0;
    stage.other_is_after = e_.other_is_after;
    stage.other_is_signed = other_is_signed_;
    stage.other_factor = static_cast<float>(e_.other_factor);
    result_->stages_.push_back(std::move(stage));
  }

  const absl::Span<const ChainStep> steps_;
  const int64_t columns_;
  Requantization* const result_;
  int64_t column_ = 0;
  int stage_ = 0, loads_ = 0;
  Affine e_, other_;
  const float* vector_ = nullptr;  // what was loaded last, if it was a vector
  bool has_other_ = false, other_is_gate_ = false, other_is_signed_ = false;
  bool gated_ = false;
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

bool Requantization::MayTake(Kind kind) {
  switch (kind) {
    case Kind::kSubtractFrom:
    case Kind::kDivideFrom:
    case Kind::kRound:
    case Kind::kNarrow:
    case Kind::kFunction:
    case Kind::kLoadF32:
    case Kind::kKeep:
    case Kind::kDivideOther:
    case Kind::kSelectOther:
      return false;
    default:
      return true;
  }
}

std::optional<Requantization> Requantization::OfElements(absl::Span<const ChainStep> steps) {
  for (const ChainStep& s : steps) {
    if (IsVector(s.kind)) return std::nullopt;
  }
  std::optional<Requantization> r = Of(Start::kFloats, nullptr, nullptr, kBlock, steps);
  if (r) r->fits_any_row_ = true;
  return r;
}

void Requantization::GatedFactors(const char* gates, int64_t first, int64_t columns,
                                  float* factors) const {
  for (int64_t j = 0; j < columns; ++j) {
    const auto byte = static_cast<uint8_t>(gates[first + j]);
    const int gate = gates_are_signed_ ? static_cast<int8_t>(byte) : byte;
    factors[j] = static_cast<float>(static_cast<double>(stages_[0].factor[first + j]) *
                                    (gate - gate_zero_) * gate_factor_);
  }
}

void Requantization::RunSteps(const Rows& rows, IntegerIsa isa) const {
  std::vector<ChainStep> steps = steps_;
  auto vector = vectors_.begin();
  bool is_x = SizeOfSource() == 1;  // whether the next load is of x
  for (ChainStep& s : steps) {
    if (s.kind == Kind::kLoadVector) {
      s.data = (vector++)->data() + rows.first;
    } else if (IsVector(s.kind)) {
      s.data = static_cast<const char*>(rows.gates) + rows.first;
    } else if (s.kind == Kind::kLoadU8 || s.kind == Kind::kLoadI8) {
      s.data = is_x ? rows.x : rows.other;
      s.data_step = is_x ? rows.x_step : rows.other_step;
      is_x = false;
    }
  }
  const auto count = static_cast<int>(steps.size());
  const ChainResult result = steps.back().low < 0 ? ChainResult::kI8 : ChainResult::kU8;
  if (source_ != Source::kSums) {
    const auto* floats = SizeOfSource() == 1 ? nullptr : static_cast<const float*>(rows.x);
    return ApplyChain(floats, rows.x_step, rows.rows, rows.columns, steps.data(), count, result,
                      rows.y, rows.y_step, isa);
  }
  const float* scale = scale_.empty() ? nullptr : scale_.data() + rows.first;
  const float* shift = shift_.empty() ? nullptr : shift_.data() + rows.first;
  for (int64_t i = 0; i < rows.rows; ++i) {
    alignas(64) int32_t row[kBlock];
    std::memcpy(row, static_cast<const int32_t*>(rows.x) + i * rows.x_step,
                static_cast<size_t>(rows.columns) * sizeof(int32_t));
    ScaleTile(row, 1, rows.columns, rows.columns, scale, shift);
    ApplyChain(reinterpret_cast<const float*>(row), rows.columns, 1, rows.columns, steps.data(),
               count, result, static_cast<char*>(rows.y) + i * rows.y_step, rows.y_step, isa);
    for (ChainStep& s : steps) {
      if (s.kind != Kind::kLoadU8 && s.kind != Kind::kLoadI8) continue;
      s.data = static_cast<const char*>(s.data) + s.data_step;
    }
  }
}

Requantization::Rows Requantization::Part(const Rows& all, int64_t row, int64_t rows,
                                          int64_t column, int64_t columns) const {
  const auto behind = [](const void* p, int64_t bytes) {
    return p == nullptr ? nullptr : static_cast<const char*>(p) + bytes;
  };
  Rows part = all;
  part.rows = rows;
  part.columns = columns;
  part.first = fits_any_row_ ? 0 : all.first + column;
  part.x = behind(all.x, (row * all.x_step + column) * SizeOfSource());
  part.other = behind(all.other, row * all.other_step + column);
  part.y = static_cast<char*>(all.y) + row * all.y_step + column;
  return part;
}

int64_t Requantization::RunShortly(const Rows& rows, const float* factors,
                                   int64_t* doubtful) const {
  using Kinds = RequantizedBlock::Source;
  RequantizedBlock block;
  block.source = source_ == Source::kSums     ? Kinds::kSums
                 : source_ == Source::kFloats ? Kinds::kFloats
                                              : Kinds::kBytes;
  block.x = static_cast<const char*>(rows.x);
  block.x_step = rows.x_step * SizeOfSource();
  block.rows = rows.rows;
  block.columns = rows.columns;
  block.other = static_cast<const char*>(rows.other);
  block.other_step = rows.other == nullptr ? 0 : rows.other_step;
  block.saturates = saturates_;
  block.x_is_signed = source_ == Source::kI8;
  block.y_is_signed = steps_.back().low < 0;
  block.y = static_cast<char*>(rows.y);
  block.y_step = rows.y_step;
  block.num_stages = static_cast<int>(stages_.size());
  const auto first = static_cast<size_t>(rows.first);
  const auto last = first + static_cast<size_t>(rows.columns) - 1;
  for (size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    const bool is_bent = !stage.slope.empty();
    block.stages[s] = {stage.factor.data() + first,
                       stage.addend.data() + first,
                       is_bent ? stage.slope.data() + first : nullptr,
                       is_bent ? stage.after.data() + first : nullptr,
                       std::min(stage.reach[first / kBlock], stage.reach[last / kBlock]),
                       stage.other_factor,
                       stage.low,
                       stage.high,
                       stage.has_other,
                       stage.other_is_signed,
                       stage.other_is_after};
  }
  if (factors != nullptr) block.stages[0].factor = factors;
  return RunBlock(block, doubtful);
}

void Requantization::Run(const Rows& all, IntegerIsa isa) const {
  if (fits_any_row_ && all.rows == 1 && all.columns > kBlock) {
    // Shorter rows, so that a block has several; then what is left.
    Rows whole = all;
    whole.rows = all.columns / kBlock;
    whole.columns = whole.x_step = whole.other_step = whole.y_step = kBlock;
    Run(whole, isa);
    const int64_t done = whole.rows * kBlock;
    if (done < all.columns) Run(Part(all, 0, 1, done, all.columns - done), isa);
    return;
  }
  constexpr int64_t kRows = 64;
  for (int64_t column = 0; column < all.columns; column += kBlock) {
    const int64_t columns = std::min(kBlock, all.columns - column);
    bool is_short = isa == IntegerIsa::kVnni;
    alignas(64) float factors[kBlock] = {};
    if (has_gates_ && is_short) {
      GatedFactors(static_cast<const char*>(all.gates), all.first + column, columns, factors);
    }
    for (int64_t row = 0; row < all.rows; row += kRows) {
      const Rows part = Part(all, row, std::min(kRows, all.rows - row), column, columns);
      if (!is_short) {
        RunSteps(part, isa);
        continue;
      }
      int64_t doubtful[kRows];
      const int64_t found = RunShortly(part, has_gates_ ? factors : nullptr, doubtful);
      for (int64_t n = 0; n < found; ++n) {
        RunSteps(Part(part, doubtful[n], 1, 0, columns), isa);
      }
      // As where one scale is twice another one, so that many numbers lie halfway.
      is_short = found <= part.rows / 4;
    }
  }
}

}  // namespace lemma::kernels
