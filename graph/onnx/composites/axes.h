// Reads the axes of ONNX operators, and imports reductions and global pools.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_AXES_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_AXES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// `axis` as a number in [0, rank): a negative axis counts from the end.
// InvalidArgument if `axis` is outside [-rank, rank).
absl::StatusOr<int64_t> NormalizeOnnxAxis(int64_t axis, int rank);

// `x` reshaped to `shape`, which must have as many elements as `x`; `x` itself
// if `x` has that shape.
absl::StatusOr<Value> Reshape(OnnxImport& node, const Value& x, const Shape& shape);

// Applies Lemma's reduction `op` to input 0 of the node. Axes come from the attribute `axes` or, in
// later operator sets, from input 1. Without axes, all axes are reduced, or none if the attribute
// `noop_with_empty_axes` is set.
absl::StatusOr<std::vector<Value>> ImportReduction(OnnxImport& node, const std::string& op);
// The same, but reduces `x` instead of input 0.
absl::StatusOr<Value> ImportReductionOfValue(OnnxImport& node, const std::string& op,
                                             const Value& x);

// Applies the reduction `op` to input 0, over all axes except the first two.
// The reduced axes get size 1. InvalidArgument if input 0 has rank below 3.
absl::StatusOr<std::vector<Value>> ImportGlobalPool(OnnxImport& node, const std::string& op);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_AXES_H_
