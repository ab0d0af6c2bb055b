// Turns convolutions with three spatial axes into ones with two.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"
#include "graph/ops/convolution/window.h"

namespace lemma::ops {

// x, [N,C,D,H,W], as [N*E, C*T, H, W], where a window of size T has E positions along D. The D
// positions in one window become neighbouring channels. Negative padding crops. InvalidArgument if
// no window fits; Unimplemented for windows of more than 1024 positions.
absl::StatusOr<Value> DepthToChannels(OnnxImport& node, const Value& x, const OnnxWindow& depth);

// The inverse for a result: [N*E,K,H,W] as [N,K,E,H,W], N = `batch`. Unimplemented if N is 0.
absl::StatusOr<Value> PositionsToDepth(OnnxImport& node, const Value& y, int64_t batch);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_DEPTH_H_
