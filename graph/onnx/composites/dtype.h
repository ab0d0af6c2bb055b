// Converts between element types and ONNX's type numbers.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// The number of a type in ONNX's TensorProto.DataType, and the type of a number. The type given to
// ToOnnxNumber must not be opaque. FromOnnxNumber returns Unimplemented for the numbers of opaque
// types and for unknown numbers.
int64_t ToOnnxNumber(DType dtype);
absl::StatusOr<DType> FromOnnxNumber(const OnnxImport& node, int64_t number);

// `x` with element type `to`; `x` itself if it has that type.
absl::StatusOr<Value> Cast(OnnxImport& node, const Value& x, DType to);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_
