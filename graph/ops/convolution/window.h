// Describes the sliding windows of convolutions and poolings, and reads them from attributes.
#ifndef LEMMA_GRAPH_OPS_CONVOLUTION_WINDOW_H_
#define LEMMA_GRAPH_OPS_CONVOLUTION_WINDOW_H_

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"

namespace lemma::ops {

// One spatial axis. Output position p covers the input positions p*stride + r*dilation - pad_begin
// for 0 <= r < kernel; positions outside [0, size) are padding.
struct WindowAxis {
  IndexExpr size, kernel, stride, dilation, pad_begin, pad_end;

  IndexExpr Position(const IndexExpr& p, const IndexExpr& r) const {
    return p * stride + r * dilation - pad_begin;
  }
  // The number of input positions from a window's first to its last.
  IndexExpr Reach() const { return (kernel - 1) * dilation + 1; }
  // The number of windows that fit into the padded axis. With ceil_mode, this includes a last
  // window that extends past the padded end, but no window that starts in the padding at the end.
  IndexExpr OutputSize(bool ceil_mode = false) const;
  // Whether it is known that no window covers padding.
  bool NeverPads(bool ceil_mode = false) const;
};

using Windows = std::array<WindowAxis, 2>;  // height, width

// The declarations of the attributes `strides`, `pads` and `dilations`.
std::vector<AttrSpec> WindowAttrs();

// The windows of an operator with WindowAttrs() and kernels of the given size. Requires, as
// LEMMA_REQUIRE does, that input 0 is [N,C,H,W] and that the attributes are valid.
absl::StatusOr<Windows> ReadWindows(OpContext& c, const IndexExpr& kernel_height,
                                    const IndexExpr& kernel_width);
// Requires, as LEMMA_REQUIRE does, that at least one window fits into the padded input.
absl::Status RequireFit(OpContext& c, const Windows& windows);

// An ONNX node's window attributes with auto_pad resolved. One entry per spatial axis; pads has all
// begins, then all ends.
struct OnnxWindow {
  std::vector<int64_t> kernel, strides, dilations, pads;

  int rank() const { return static_cast<int>(kernel.size()); }
  // The window along axes [begin, end) alone.
  OnnxWindow Axes(int begin, int end) const;
  // Adds a leading axis of one position, which turns a 1-d window into a 2-d one.
  OnnxWindow WithUnitAxis() const;
  // The number of input positions from a window's first to its last, along one axis.
  int64_t Reach(size_t axis) const;
  // The attributes strides, pads, dilations of a 2-d operator.
  Attrs ToAttrs() const;
};
// The padding that ONNX's SAME_UPPER and SAME_LOWER give one axis, so that ceil(size / stride)
// windows fit. `size` may be symbolic; `reach` is OnnxWindow::Reach. Returns the paddings of the
// two ends, the smaller one first; they are symbolic if they depend on a symbolic size. nullopt if
// 1 < reach < stride, or if a padding cannot be written as a size (ToSize).
std::optional<std::pair<int64_t, int64_t>> SamePadding(int64_t size, int64_t reach, int64_t stride);

// The ONNX attribute for the padding of a window over `input`, [N, C, spatial…]: auto_pad if the
// padding is symbolic and equals SamePadding, else pads.
std::pair<std::string, OnnxAttr> OnnxPadding(const Shape& input, const OnnxWindow& window);

// The spatial sizes of `weight`, [., ., spatial…], where `node` is a convolution. InvalidArgument
// if there are no spatial sizes or if the node's kernel_shape contradicts them; Unimplemented if
// there are more than `most`.
absl::StatusOr<std::vector<int64_t>> KernelOfWeight(const OnnxImport& node, const Shape& weight,
                                                    size_t most);
// The window attributes of `node`. `input` is the shape [N, C, spatial…]; `kernel` comes from
// kernel_shape or from the weight. InvalidArgument if an attribute or the rank of `input` does not
// fit `kernel`. Unimplemented if auto_pad is SAME_UPPER or SAME_LOWER and SamePadding returns
// nullopt for a symbolic size.
absl::StatusOr<OnnxWindow> ReadOnnxWindow(const OnnxImport& node, const Shape& input,
                                          std::vector<int64_t> kernel);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_CONVOLUTION_WINDOW_H_
