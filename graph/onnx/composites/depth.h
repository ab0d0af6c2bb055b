// Turns convolutions with three spatial axes into convolutions with two.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"
#include "graph/ops/convolution/window.h"

namespace lemma::ops {

// x, [N,C,D,H,W], as [N*E, C*T, H, W], where `depth` is a window of size T that has E positions
// along D. The T elements along D that a window reads become neighbouring channels. Negative
// padding crops. InvalidArgument if no window fits; Unimplemented if T exceeds 1024.
absl::StatusOr<Value> DepthToChannels(OnnxImport& node, const Value& x, const OnnxWindow& depth);

// y, the result [N*E,K,H,W] of the convolution with two spatial axes, as [N,K,E,H,W], where N is
// `batch`. Unimplemented if N is 0.
absl::StatusOr<Value> PositionsToDepth(OnnxImport& node, const Value& y, int64_t batch);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_
