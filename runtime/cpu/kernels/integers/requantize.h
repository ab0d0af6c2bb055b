// Requantization: the sums of a product of integers become 8-bit integers again.
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
  // For `columns` columns of sums: first ScaleTile with `scale` and `shift` (nullptr: without),
  // then `steps`, whose operands are set, except the data of kLoadU8 and kLoadI8. Numbers and
  // vectors are copied. nullopt if the bound is useless, or if the steps are not one or two stages
  // of this kind: min, max and arithmetic with numbers and vectors, at most one sum with an integer
  // that is loaded, and then kQuantize.
  static std::optional<Requantization> Of(const float* scale, const float* shift, int64_t columns,
                                          absl::Span<const ChainStep> steps);

  // Row i of the result is stored at y + i * y_step. The sums are columns [first, first + columns)
  // of those given to Of; row i begins at sums + i * step, with at least kPanelColumns numbers for
  // each kPanelColumns columns begun. `first` must be a multiple of kPanelColumns. Row i of what a
  // step loads begins at other + i * other_step. y may be `other` if y_step is other_step.
  void Run(const int32_t* sums, int64_t rows, int64_t step, int64_t first, int64_t columns,
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

  void RunExactly(const int32_t* sums, int64_t first, int64_t columns, const char* other,
                  char* y) const;

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
