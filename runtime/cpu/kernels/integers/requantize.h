// Requantization: the sums of a product of integers, floats or 8-bit integers become other 8-bit
// integers.
//
// The exact computation rounds at each step: sum * scale + shift, some steps of a chain (chain.h),
// a quotient, the nearest integer. Here the number before the nearest integer is computed with one
// or two fused multiplications and additions. Its error is bounded; where the bound may change the
// nearest integer, the exact computation decides. So the results are those of the exact
// computation.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "runtime/cpu/kernels/integers/chain.h"
#include "runtime/cpu/kernels/integers/tiles.h"

namespace lemma::kernels {

class Requantization {
 public:
  enum class Start { kSums, kFloats };

  // For rows of `columns` numbers. The exact computation begins with sums, to which ScaleTile is
  // applied with `scale` and `shift` (nullptr: without), or with floats; in both cases, `steps`
  // follow. If the first steps are kLoadU8 or kLoadI8 and kTakeOther, it begins with these
  // integers. The operands of the steps are set, except the data of kLoadU8 and kLoadI8; numbers
  // and vectors are copied. nullopt if the bound is useless, or if the steps are not one or two
  // stages of this kind: min, max and arithmetic with numbers and vectors, at most one sum with an
  // integer that is loaded, and then kQuantize.
  static std::optional<Requantization> Of(Start start, const float* scale, const float* shift,
                                          int64_t columns, absl::Span<const ChainStep> steps);
  // The same for floats in rows of any length, if `steps` read no vectors.
  static std::optional<Requantization> OfElements(absl::Span<const ChainStep> steps);

  // Computes `rows` rows of columns [first, first + columns). x points to the first sum, float or
  // integer with which the computation begins, `other` to the first integer that a later step
  // loads, y to the first result; the rows of each begin x_step, other_step and y_step elements
  // apart. For each kPanelColumns columns begun, x must have kPanelColumns sums. `first` must be a
  // multiple of kPanelColumns, and 0 after OfElements. y may be `other`, or x if that is of
  // integers, if the steps are equal.
  void Run(const void* x, int64_t x_step, int64_t rows, int64_t first, int64_t columns,
           const void* other, int64_t other_step, void* y, int64_t y_step,
           IntegerIsa isa = BestIntegerIsa()) const;

 private:
  class Maker;
  static constexpr int64_t kBlock = 64;  // columns that are computed together

  // The result of a stage is the nearest integer to x * factor + other * other_factor + addend,
  // within [low, high], unless that number is more than `reach` away from the integer. x is the sum
  // or the result of the stage before.
  struct Stage {
    std::vector<float> factor, addend;  // of each column; filled up with zeros
    std::vector<float> reach;           // of each kBlock columns
    float other_factor = 0, low = 0, high = 0;
    bool has_other = false, other_is_signed = false;
  };

  enum class Source { kSums, kFloats, kU8, kI8 };

  int64_t SizeOfSource() const { return source_ == Source::kU8 || source_ == Source::kI8 ? 1 : 4; }
  void RunExactly(const char* x, int64_t first, int64_t columns, const char* other, char* y) const;

  Source source_ = Source::kSums;
  bool has_one_factor_ = false;       // made by OfElements
  std::vector<float> scale_, shift_;  // may be empty
  std::vector<ChainStep> steps_;
  std::vector<std::vector<float>> vectors_;  // what the steps kLoadVector read, in order
  std::vector<Stage> stages_;
  // Whether the bounds of the last stage are those of the result's type, and no number before them
  // is beyond 32 bits.
  bool saturates_ = true;
};

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZE_H_
