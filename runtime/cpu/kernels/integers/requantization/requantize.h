// Requantization turns numbers into 8-bit integers. The numbers are the sums of a product of
// integers, floats, or other 8-bit integers.
//
// The exact computation rounds at each of these steps: sum * scale + shift, some steps of a chain
// (chain.h), a division, and the rounding to the nearest integer. The short computation has fewer
// steps before the rounding to the nearest integer: one or two fused multiply-adds and, if the
// chain multiplies negative numbers by a factor, this multiplication. The error of the short
// computation is bounded. Where this error may change the nearest integer, the exact computation is
// used. So the results are always those of the exact computation.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZATION_REQUANTIZE_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZATION_REQUANTIZE_H_

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

  // For rows of `columns` numbers. The exact computation begins with sums, to which ScaleTile
  // (tiles.h) is applied with `scale` and `shift` (nullptr: without), or with floats. Then `steps`
  // follow. If the first two steps are kLoadU8 or kLoadI8, and kTakeOther, the computation begins
  // with the loaded integers instead. The operands of the steps must be set, except the data of
  // integers. Numbers and vectors are copied.
  //
  // nullopt if the error bound is too large to be useful, or if the steps do not have this form:
  //   * There are one or two stages. Each stage has min, max and arithmetic with numbers and
  //     vectors, and ends with kQuantize.
  //   * A stage may multiply negative numbers once (kScaleNegative, kScaleNegativeOther), before
  //     min and max.
  //   * One stage may add an integer that is loaded.
  //   * The first stage may have one product with a gate, before anything is added. A gate is an
  //     integer for each column (kLoadVectorU8 or kLoadVectorI8) that may differ from run to run.
  static std::optional<Requantization> Of(Start start, const float* scale, const float* shift,
                                          int64_t columns, absl::Span<const ChainStep> steps);
  // Whether `Of` accepts steps of this kind.
  static bool MayTake(ChainStep::Kind kind);
  // As `Of`, for floats in rows of any length. nullopt if `steps` read vectors.
  static std::optional<Requantization> OfElements(absl::Span<const ChainStep> steps);

  // A block: columns [first, first + columns) of `rows` rows. Each pointer except `gates` points to
  // the block's first element. The rows of x, `other` and y begin x_step, other_step and y_step
  // elements apart.
  struct Rows {
    int64_t rows = 0, first = 0, columns = 0;
    const void* x = nullptr;  // the sums, floats or integers with which the computation begins
    int64_t x_step = 0;
    const void* other = nullptr;  // the integers that a later step loads; nullptr if none does
    int64_t other_step = 0;
    // The integers that kLoadVectorU8 or kLoadVectorI8 loads, from that of column 0 on.
    const void* gates = nullptr;
    void* y = nullptr;
    int64_t y_step = 0;
  };

  // Computes a block. If x holds sums, the rows of x are read up to a multiple of kPanelColumns
  // columns. Rows::first must be a multiple of kPanelColumns; for a result of OfElements, it must
  // be 0. y may be `other`, or x if x holds 8-bit integers; in both cases the row steps must be
  // equal.
  void Run(const Rows& rows, IntegerIsa isa = BestIntegerIsa()) const;

 private:
  class Maker;
  static constexpr int64_t kBlock = 64;  // columns that are computed together

  // The result of a stage is the nearest integer to x * factor + other * other_factor + addend,
  // within [low, high]. If that number is more than `reach` away from the integer, the exact
  // computation decides. x is the number with which the computation begins, or the result of the
  // stage before. If there are slopes, the number is multiplied by the slope where it is negative,
  // and then `after` is added. other_is_after: the term of `other` is added with `after`, not
  // before.
  struct Stage {
    std::vector<float> factor, addend;  // of each column; filled up with zeros
    std::vector<float> slope, after;    // the same; may be empty
    std::vector<float> reach;           // of each kBlock columns
    float other_factor = 0, low = 0, high = 0;
    bool has_other = false, other_is_signed = false, other_is_after = false;
  };

  enum class Source { kSums, kFloats, kU8, kI8 };

  int64_t SizeOfSource() const { return source_ == Source::kU8 || source_ == Source::kI8 ? 1 : 4; }
  // `rows` rows and `columns` columns of `all`, from a row and a column on.
  Rows Part(const Rows& all, int64_t row, int64_t rows, int64_t column, int64_t columns) const;
  // The exact computation, of at most kBlock columns.
  void RunSteps(const Rows& rows, IntegerIsa isa) const;
  // The short computation, of at most kBlock columns. Returns the number of
  // rows that hold a doubtful number, and writes their indices to `doubtful`,
  // which must have room for all rows. The results of these rows are not
  // stored. `factors`: of the first stage; nullptr: the stage's own.
  int64_t RunShortly(const Rows& rows, const float* factors, int64_t* doubtful) const;
  // Writes the factors of the first stage for columns [first, first + columns), times the gates.
  void GatedFactors(const char* gates, int64_t first, int64_t columns, float* factors) const;

  Source source_ = Source::kSums;
  bool fits_any_row_ = false;  // made by OfElements
  // The factors of the first stage are multiplied by (gate - gate_zero_) * gate_factor_.
  bool has_gates_ = false, gates_are_signed_ = false;
  int gate_zero_ = 0;
  double gate_factor_ = 0;
  std::vector<float> scale_, shift_;  // may be empty
  std::vector<ChainStep> steps_;
  std::vector<std::vector<float>> vectors_;  // what the steps kLoadVector read, in order
  std::vector<Stage> stages_;
  // Whether the bounds of the last stage are those of the result's type, and
  // every number to which they are applied fits into 32 bits.
  bool saturates_ = true;
};

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_REQUANTIZATION_REQUANTIZE_H_
