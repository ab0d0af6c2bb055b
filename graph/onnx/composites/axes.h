// How ONNX says which axes an operator works on.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_AXES_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_AXES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_form.h"

namespace lemma::ops {

// `axis` in [0, rank), negative counting from the end; an error otherwise.
absl::StatusOr<int64_t> NormalizeOnnxAxis(int64_t axis, int rank);

// `x` with another shape of as many elements; `x` itself if it has that shape.
absl::StatusOr<Value> Reshape(OnnxImport& node, const Value& x, const Shape& shape);

// The node applied as our reduction `op` to its input 0, or to `x` in its place. Axes come from the
// attribute, or from input 1 as later operator sets have it.
absl::StatusOr<std::vector<Value>> ImportReduction(OnnxImport& node, const std::string& op);
absl::StatusOr<Value> ImportReductionOfValue(OnnxImport& node, const std::string& op,
                                             const Value& x);

// The reduction `op` over all axes but the first two, which stay.
absl::StatusOr<std::vector<Value>> ImportGlobalPool(OnnxImport& node, const std::string& op);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_AXES_H_
