// The layout NCHWc of ONNX Runtime's CPU kernels: blocks of c channels innermost.
//
// A blocked tensor is declared as [N,C,H,W], but its elements lie in memory as [N, C/c, H, W, c].
// Here it is what its memory says, so that every other operator that reads it keeps its meaning:
// blocked(x) is reshape(transpose(reshape(x))). Blocking what was just unblocked gives the original
// value, so no layout changes remain between operators that know the layout.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_LAYOUT_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_LAYOUT_H_

#include <cstdint>
#include <optional>

#include "graph/onnx/composites/build.h"

namespace lemma::ops {

// The blocked form of x: [N,C,H,W], where C is a multiple of `block`, and the other way round.
Value ToBlocked(OnnxBuild& b, const Value& x, int64_t block);
Value FromBlocked(OnnxBuild& b, const Value& x, int64_t block);

// Channels appended to a tensor, all elements of which are `value`.
struct PaddedChannels {
  Value inner;
  double value = 0;
};
// x as a tensor with appended channels, if it is a padded one or computed element by element from
// such.
std::optional<PaddedChannels> PaddedChannelsOf(OnnxBuild& b, const Value& x);
// x: [N,C,H,W] with channels appended, up to `channels`.
Value PadChannels(OnnxBuild& b, const Value& x, int64_t channels, double value);
// The first `channels` channels of x; appended channels are removed rather than cut off.
Value FirstChannels(OnnxBuild& b, const Value& x, int64_t channels);

// The first `size` elements of `x` along dimension `axis`.
Value First(OnnxBuild& b, const Value& x, int64_t axis, int64_t size);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_LAYOUT_H_
