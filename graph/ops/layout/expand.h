// Makes tensors of one repeated number, for ONNX importers.
#ifndef LEMMA_GRAPH_OPS_LAYOUT_EXPAND_H_
#define LEMMA_GRAPH_OPS_LAYOUT_EXPAND_H_

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"

namespace lemma::ops {

// A tensor whose elements are all `value`, built as an expanded scalar. So a large tensor needs no
// memory for its elements; the import computes a small tensor at once. Unimplemented for an opaque
// element type.
absl::StatusOr<Value> Filled(OnnxImport& node, const TensorType& type, double value);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_OPS_LAYOUT_EXPAND_H_
