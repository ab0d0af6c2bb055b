// Imports and exports ONNX's pooling operators.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_POOL_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_POOL_H_

#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// ImportMaxPool, ImportAveragePool and ImportLpPool take one to three spatial axes; ImportMaxPool
// takes at most two if its second output, Indices, is used. They return Unimplemented for more
// axes. ImportLpPool and ImportMaxUnpool take no symbolic sizes.
absl::StatusOr<std::vector<Value>> ImportMaxPool(OnnxImport& node);
absl::StatusOr<std::vector<Value>> ImportMaxUnpool(OnnxImport& node);
absl::StatusOr<std::vector<Value>> ImportAveragePool(OnnxImport& node);
// As ImportAveragePool, but pools `x` instead of the node's first input.
absl::StatusOr<Value> AveragePoolOf(OnnxImport& node, const Value& x);
absl::StatusOr<std::vector<Value>> ImportLpPool(OnnxImport& node);

// ExportAveragePool returns Unimplemented for dilations, and for a ceil_mode with count_include_pad
// that ONNX cannot express.
absl::Status ExportMaxPool(OnnxExport& out);
absl::Status ExportMaxPoolIndex(OnnxExport& out);
absl::Status ExportMaxPoolGradient(OnnxExport& out);
absl::Status ExportAveragePool(OnnxExport& out);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_POOL_H_
