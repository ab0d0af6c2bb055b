// A product of integers in the form for runtime/cpu/kernels/integers/tiles.h: sizes, offsets, and
// the right matrix in panels.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PACKED_PRODUCT_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PACKED_PRODUCT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/plan/layout.h"

namespace lemma::cpu {

// An image of `images` x `height` x `width` pixels of `channels` numbers, channels innermost, and
// windows over it. A matrix is an image whose rows are its rows, of one pixel each.
struct WindowSizes {
  int64_t images = 1, height = 1, width = 1, channels = 1;
  int64_t rows = 1, columns = 1;    // of the result
  int64_t outputs = 1, groups = 1;  // outputs: channels of the result
  int64_t kernel[2] = {1, 1}, strides[2] = {1, 1}, dilations[2] = {1, 1};
  int64_t before[2] = {0, 0};  // padding
};

WindowSizes SizesOf(const Node& head);

class PackedProduct {
 public:
  // `integers`: the weight's, row-major in the shape of product.integers. Unimplemented if they are
  // not small integers.
  static absl::StatusOr<PackedProduct> Pack(const Node& head, const IntegerProduct& product,
                                            const Tensor& integers);

  const WindowSizes& sizes() const { return sizes_; }
  int64_t packed_bytes() const { return static_cast<int64_t>(panels_.size() * sizeof(int16_t)); }
  // Element [output, channel of the group, row, column] of the weight, read from the panels.
  int WeightAt(int64_t output, int64_t channel, int64_t row, int64_t column) const;

  // A patch holds the numbers that some rows of an image's result need, as 16-bit integers. This is
  // its size, in elements, for `rows` rows.
  int64_t PatchSize(int64_t rows) const;
  // Writes the patch for result rows [begin, end): source - zero, and 0 outside the image. T is
  // uint8_t or int8_t.
  template <class T>
  void FillPatch(const T* image, int zero, int64_t begin, int64_t end, int16_t* patch) const;

  // The sums for result rows [begin, end) of an image, for the outputs [first, last), which are
  // whole panels unless they are the last ones; with groups, all outputs. Pixel i's sums lie at
  // sums + i * step. Writes up to kPanelColumns - 1 numbers behind a pixel's last sum, but not
  // behind those of the last pixel's step.
  void Multiply(const int16_t* patch, int64_t begin, int64_t end, int64_t first, int64_t last,
                int32_t* sums, int64_t step) const;

 private:
  void PackPanels(const std::vector<int16_t>& integers, const Strides& strides);
  void PackChannels(const std::vector<int16_t>& integers, const Strides& strides);
  void MultiplyByChannel(const int16_t* patch, int64_t rows, int32_t* sums, int64_t step) const;

  void MultiplyPanel(const std::vector<const int16_t*>& rows, const int16_t* panel, int32_t* sums,
                     int64_t step) const;
  int64_t PlaceOf(int64_t output, int64_t channel, int64_t row, int64_t column) const;
  bool samples() const;  // only pixels that a 1 x 1 window reads are copied
  int64_t patch_width() const;
  int64_t patch_rows(int64_t rows) const;

  WindowSizes sizes_;
  int64_t group_channels_ = 1, group_outputs_ = 1;
  // Offsets in a patch: of the runs; by channel: of the pixels of a window, of an even number.
  std::vector<int64_t> runs_;
  bool by_channel_ = false;  // each output is of one channel, as in a depthwise convolution
  bool whole_rows_ = false;  // a run is a row of the window, otherwise a pixel of a group
  int64_t parts_ = 1;        // into which each run is cut, which are runs of their own
  int64_t pairs_ = 0;        // of each run
  int64_t panel_size_ = 0, panels_per_group_ = 0;
  std::vector<int16_t> panels_;
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PACKED_PRODUCT_H_
