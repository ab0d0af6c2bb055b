// Products of a few rows of floats with a matrix of weights that are small integers times scales.
//
// The time of such a product is the time to read its weights from memory. So
// the weights stay integers of 4 or 8 bits in memory, and become floats in
// registers. A weight is the integer times its scale, rounded to f32, as if the
// f32 weights were stored. Only the order in which products are added may
// differ.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_NARROW_WEIGHTS_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_NARROW_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace lemma::kernels {

// A matrix [depth, columns] of weights. Multiply may be called only if BestIntegerIsa() is kVnni
// (AVX-512), all other functions on any machine.
class NarrowWeights {
 public:
  // How a weight is stored: as 4 bits, as 8 bits or, if neither gives every weight exactly, as f32.
  enum class Form { kFourBits, kEightBits, kFloats };
  // Ranges of columns begin at multiples of kColumns.
  static constexpr int64_t kColumns = 8;
  // The integers of a column are packed in runs of kRun. In the first two forms, a run has one
  // scale.
  static constexpr int64_t kRun = 32;

  // `integers` and `scales` are row-major [depth, columns]; all integers are whole numbers of
  // magnitude at most 255. Uses up to `threads` threads.
  static NarrowWeights Pack(const float* integers, const float* scales, int64_t depth,
                            int64_t columns, int threads);

  // y[i * y_step + j] = sum(k < depth) x[i * x_step + k] * At(k, j) for i < rows and
  // first <= j < last. `first` is a multiple of kColumns. Each row of x must be followed by zeros
  // up to the next multiple of kRun.
  void Multiply(const float* x, int64_t rows, int64_t x_step, int64_t first, int64_t last, float* y,
                int64_t y_step) const;

  // Weight [k, j].
  float At(int64_t k, int64_t j) const;

  Form form() const { return form_; }
  int64_t depth() const { return depth_; }
  int64_t columns() const { return columns_; }
  int64_t runs() const { return (depth_ + kRun - 1) / kRun; }
  // The packed integers, and the bytes of everything.
  absl::Span<const char> packed() const {
    return {reinterpret_cast<const char*>(weights_.data()), weights_.size() * sizeof(uint32_t)};
  }
  size_t bytes() const {
    return weights_.size() * sizeof(uint32_t) + (scales_.size() + bases_.size()) * sizeof(float);
  }

 private:
  template <Form kForm, int kRows>
  void MultiplyRows(const float* x, int64_t x_step, int64_t group, int64_t column,
                    float* sums) const;
  void MultiplyGroup(const float* x, int64_t rows, int64_t x_step, int64_t group,
                     float* sums) const;

  int64_t groups() const { return (columns_ + kColumns - 1) / kColumns; }
  // 32-bit words that hold one run of kColumns columns.
  int64_t words() const {
    return kRun * kColumns / (form_ == Form::kFourBits ? 8 : form_ == Form::kEightBits ? 4 : 1);
  }
  int64_t scales_per_group() const { return (runs() + runs_per_scale_ - 1) / runs_per_scale_; }
  // The integer (or, in the form kFloats, the weight) `k` of `column` of a group.
  float Stored(int64_t group, int64_t column, int64_t k) const;

  Form form_ = Form::kFloats;
  int64_t depth_ = 0, columns_ = 0;
  int64_t runs_per_scale_ = 1;  // adjacent runs with the same scales and bases
  // For each group of kColumns adjacent columns, for each run: words() words. A code is an integer
  // minus its base. In the form kFourBits, word 16 * h + l (h < 2, l < 16) holds, for c < 4, at
  // bits 8 * c the code of integer l of column 4 * h + c, and at bits 8 * c + 4 that of integer 16
  // + l; in kEightBits, the codes of each column in turn, a byte each; in kFloats, the weights of
  // each column in turn.
  std::vector<uint32_t> weights_;
  std::vector<float> scales_;  // by group, runs_per_scale_ runs, and column
  std::vector<float> bases_;   // the same; empty: -8 (kFourBits) or -128 (kEightBits)
};

}  // namespace lemma::kernels

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_NARROW_WEIGHTS_H_
