// Turns convolutions with three spatial axes into convolutions with two.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"
#include "graph/ops/convolution/window.h"

namespace lemma::ops {

// Turns x, [N,C,D,H,W], into [N*E, C*T, H, W]. `depth` is the window along D; it has T elements and
// E positions. Each position becomes an entry of the batch, and the T elements along D that the
// window reads there become neighboring channels. Negative padding crops x. InvalidArgument if no
// window fits; Unimplemented if T exceeds 1024.
absl::StatusOr<Value> DepthToChannels(OnnxImport& node, const Value& x, const OnnxWindow& depth);

// Turns y, the result [N*E,K,H,W] of the convolution with two spatial axes, into [N,K,E,H,W]. N is
// `batch`. Unimplemented if N is 0, or is symbolic and may be 0.
absl::StatusOr<Value> PositionsToDepth(OnnxImport& node, const Value& y, int64_t batch);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_
