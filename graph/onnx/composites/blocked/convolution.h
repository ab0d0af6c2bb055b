// Imports Conv of com.microsoft.nchwc. Internal to graph/onnx/composites/blocked.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_CONVOLUTION_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_CONVOLUTION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// Returns the convolution's only output, in blocked form (layout.h).
absl::StatusOr<std::vector<Value>> ImportBlockedConv(OnnxImport& node);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_BLOCKED_CONVOLUTION_H_
