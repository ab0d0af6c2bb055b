// Sliding windows: what convolutions and poolings have in common.
#ifndef LEMMA_GRAPH_OPS_CONVOLUTION_WINDOW_H_
#define LEMMA_GRAPH_OPS_CONVOLUTION_WINDOW_H_

#include <array>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_form.h"
#include "graph/op_def.h"

namespace lemma::ops {

// One spatial axis. Output position p covers input positions p*stride + r*dilation - pad_begin for
// 0 <= r < kernel; those outside [0, size) are padding.
struct WindowAxis {
  IndexExpr size, kernel, stride, dilation, pad_begin, pad_end;

  IndexExpr Position(const IndexExpr& p, const IndexExpr& r) const {
    return p * stride + r * dilation - pad_begin;
  }
  // Input positions from a window's first to its last.
  IndexExpr Reach() const { return (kernel - 1) * dilation + 1; }
  // Windows that fit into the padded axis. With ceil_mode one more if it sticks out at the end, but
  // starts inside the axis or its leading padding.
  IndexExpr OutputSize(bool ceil_mode = false) const;
  // No window touches padding.
  bool NeverPads(bool ceil_mode = false) const;
};

using Windows = std::array<WindowAxis, 2>;  // height, width

// The specifications of the attributes `strides`, `pads`, `dilations`.
std::vector<AttrSpec> WindowAttrs();

// The windows of an operator with WindowAttrs() whose input 0 is [N,C,H,W]; checks the attributes.
absl::StatusOr<Windows> ReadWindows(OpContext& c, const IndexExpr& kernel_height,
                                    const IndexExpr& kernel_width);
// At least one window fits into the padded input.
absl::Status RequireFit(OpContext& c, const Windows& windows);

// An ONNX node's window attributes, auto_pad resolved; one entry per spatial axis, pads twice that.
struct OnnxWindow {
  std::vector<int64_t> kernel, strides, dilations, pads;

  int rank() const { return static_cast<int>(kernel.size()); }
  // The axes [begin, end) alone.
  OnnxWindow Axes(int begin, int end) const;
  // With a leading axis of one position: a 1-d window as a 2-d one.
  OnnxWindow WithUnitAxis() const;
  // As the attributes strides, pads, dilations of a 2-d operator.
  Attrs ToAttrs() const;
};
// The spatial sizes of `weight`, [., ., spatial…], which kernel_shape must not contradict. More of
// them than `most` are unsupported.
absl::StatusOr<std::vector<int64_t>> KernelOfWeight(const OnnxImport& node, const Shape& weight,
                                                    size_t most);
// `input` is [N, C, spatial…]; `kernel` comes from kernel_shape or from the weight.
absl::StatusOr<OnnxWindow> ReadOnnxWindow(const OnnxImport& node, const Shape& input,
                                          std::vector<int64_t> kernel);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_CONVOLUTION_WINDOW_H_
