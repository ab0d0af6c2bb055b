// Converts to and from the layout NCHWc of ONNX Runtime's CPU kernels, in which blocks of c
// channels are innermost.
//
// A blocked tensor is declared as [N,C,H,W], but its elements lie in memory as [N, C/c, H, W, c].
// The import makes this order of the elements explicit, so other operators that read the tensor
// keep their meaning: the blocked form of x is reshape(transpose(reshape(x))). ToBlocked of a
// result of FromBlocked gives the original value, so no layout changes remain between blocked
// operators.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_LAYOUT_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_LAYOUT_H_

#include <cstdint>
#include <optional>

#include "graph/onnx/composites/build.h"

namespace lemma::ops {

// The blocked form of x, and the inverse. Operand and result have shape [N,C,H,W]; C must be a
// multiple of `block`.
Value ToBlocked(OnnxBuild& b, const Value& x, int64_t block);
Value FromBlocked(OnnxBuild& b, const Value& x, int64_t block);

// The tensor `inner` with channels appended whose elements are all `value`.
struct PaddedChannels {
  Value inner;
  double value = 0;
};
// x as a tensor with appended channels, if x is the result of a pad that appends channels, or of
// element-wise operators on tensors padded in this way; otherwise nullopt.
std::optional<PaddedChannels> PaddedChannelsOf(OnnxBuild& b, const Value& x);
// x, [N,C,H,W], with channels appended whose elements are all `value`, as [N,channels,H,W].
Value PadChannels(OnnxBuild& b, const Value& x, int64_t channels, double value);
// The first `channels` channels of x. If the last channels of x were appended by a pad, shortens or
// drops the pad instead of slicing.
Value FirstChannels(OnnxBuild& b, const Value& x, int64_t channels);

// The first `size` elements of `x` along dimension `axis`.
Value First(OnnxBuild& b, const Value& x, int64_t axis, int64_t size);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_LAYOUT_H_
