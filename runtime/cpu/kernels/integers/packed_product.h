// A product of integers in the form for runtime/cpu/kernels/integers/tiles.h: sizes, offsets, and
// the right matrix in panels.
//
// The number x - zero needs nine bits. So where bytes can be multiplied, the code sums x * w, where
// w is the weight, and then subtracts zero * (sum of w). The result is the same, even if sums of 32
// bits wrap.
#ifndef LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PACKED_PRODUCT_H_
#define LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PACKED_PRODUCT_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/cpu/kernels/integers/operands.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/plan/layout.h"

namespace lemma::cpu {

// `images` images of `height` x `width` pixels of `channels` numbers, channels innermost, and the
// windows over them. A matrix is one image of one column: each row of the matrix is a pixel, and
// each column of the matrix is a channel.
struct WindowSizes {
  int64_t images = 1, height = 1, width = 1, channels = 1;
  int64_t rows = 1, columns = 1;    // pixels of an image of the result
  int64_t outputs = 1, groups = 1;  // outputs: channels of the result
  // [0]: vertical (rows), [1]: horizontal (columns).
  int64_t kernel[2] = {1, 1}, strides[2] = {1, 1}, dilations[2] = {1, 1};
  int64_t before[2] = {0, 0};  // padding before the first row and column
};

// The sizes of a convolution or matrix product (HeadOf).
WindowSizes SizesOf(const Node& head);

class PackedProduct {
 public:
  // `integers`: the values of product.integers, row-major. Unimplemented if they are not all
  // integers of magnitude at most 255. `zero`: the number that every run subtracts from the source;
  // nullopt if this number may vary. `isa`: instructions that this machine has.
  static absl::StatusOr<PackedProduct> Pack(const Node& head, const IntegerProduct& product,
                                            const Tensor& integers, std::optional<int> zero,
                                            kernels::IntegerIsa isa = kernels::BestIntegerIsa());

  const WindowSizes& sizes() const { return sizes_; }
  int64_t packed_bytes() const {
    return static_cast<int64_t>(panels_.size() * sizeof(int16_t) + byte_panels_.size() +
                                column_sums_.size() * sizeof(int32_t));
  }
  // Element [output, channel of the group, row, column] of the weight, read from the panels.
  int WeightAt(int64_t output, int64_t channel, int64_t row, int64_t column) const;

  // A patch is a copy of the pixels from which some rows of an image's result are computed: as
  // 16-bit integers or, if the product multiplies bytes, as bytes. PatchBytes is the size of the
  // patch for `rows` rows of the result.
  int64_t PatchBytes(int64_t rows) const;
  // Writes the patch for rows [begin, end) of the result. A patch of 16-bit integers holds
  // pixel - zero, and 0 outside the image. A patch of bytes holds InBytes(pixel), and InBytes(zero)
  // outside the image. T is uint8_t or int8_t.
  template <class T>
  void FillPatch(const T* image, int zero, int64_t begin, int64_t end, void* patch) const;
  // The number that patches of bytes hold for the number x of type T.
  template <class T>
  static int InBytes(int x) {
    return x - std::numeric_limits<T>::min();
  }

  // Computes the sums for rows [begin, end) of an image's result and for the outputs [first, last).
  //   * With several groups, [first, last) must be all outputs. Otherwise `first` must be a
  //     multiple of kPanelColumns, and so must `last` unless it is the number of outputs.
  //   * The pixels of these rows are numbered row by row. The sums of pixel i begin at sums + i *
  //     step, with output `first`. Up to kPanelColumns - 1 numbers behind them are overwritten too.
  //   * `step` must be at least last - first, rounded up to a multiple of kPanelColumns, plus
  //     kPanelColumns with several groups.
  //   * `zero_in_bytes`: InBytes of the zero that FillPatch was given.
  void Multiply(const void* patch, int zero_in_bytes, int64_t begin, int64_t end, int64_t first,
                int64_t last, int32_t* sums, int64_t step) const;

 private:
  void PackPanels(const std::vector<int16_t>& integers, const Strides& strides);
  void PackChannels(const std::vector<int16_t>& integers, const Strides& strides);
  void MultiplyByChannel(const int16_t* patch, int64_t rows, int32_t* sums, int64_t step) const;
  void MultiplyByByteChannel(const uint8_t* patch, int zero_in_bytes, int64_t rows, int32_t* sums,
                             int64_t step) const;

  // Element is int16_t or uint8_t, Weight int16_t or int8_t.
  template <class Element, class Weight>
  void MultiplyByPanel(const Element* patch, const std::vector<Weight>& panels, int zero_in_bytes,
                       int64_t count, int64_t first, int64_t last, int32_t* sums,
                       int64_t step) const;
  // Multiplies one panel or, with bytes, up to two. `start`: with bytes, the numbers that are added
  // to the sums of each column.
  template <class Element, class Weight>
  void MultiplyPanels(const std::vector<const Element*>& rows, const Weight* panel, int panels,
                      const uint32_t* start, int32_t* sums, int64_t step) const;
  template <class T, class Element, class Copy>
  void CopyPixels(const T* image, int64_t begin, int64_t end, Element outside, Element* patch,
                  Copy copy) const;
  // Whether a window reads pixels outside of the image.
  bool reads_outside() const;
  int64_t group_size() const { return bytes_ ? 4 : 2; }  // numbers that one instruction adds
  // The number of an output's column, counted over all panels.
  int64_t ColumnOf(int64_t output) const;
  int64_t PlaceOf(int64_t output, int64_t channel, int64_t row, int64_t column) const;
  bool patch_is_sampled() const;  // a patch has only the pixels that 1 x 1 windows read
  int64_t patch_width() const;
  int64_t patch_rows(int64_t rows) const;

  WindowSizes sizes_;
  int64_t group_channels_ = 1, group_outputs_ = 1;
  // Offsets in a patch: of the runs (tiles.h) or, if by_channel_, of all pixels
  // of a window. If by_channel_, the last offset is repeated, with weight 0, up
  // to a multiple of group_size().
  std::vector<int64_t> runs_;
  bool by_channel_ = false;  // output i reads channel i only, as in a depthwise convolution
  bool whole_rows_ = false;  // a run is a row of the window, otherwise a pixel of a group
  int64_t parts_ = 1;        // the number of parts into which a run is cut; each becomes a run
  int64_t run_groups_ = 0;   // groups of group_size() numbers in each run
  int64_t panel_size_ = 0, panels_per_group_ = 0;
  bool bytes_ = false;  // whether patches and panels are of bytes
  std::vector<int16_t> panels_;
  std::vector<int8_t> byte_panels_;   // in the place of panels_
  std::vector<int32_t> column_sums_;  // with bytes: of the weights of each column of each panel
};

}  // namespace lemma::cpu

#endif  // LEMMA_RUNTIME_CPU_KERNELS_INTEGERS_PACKED_PRODUCT_H_
