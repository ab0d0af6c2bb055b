// Converts between element types and ONNX's type numbers, and values to other element types.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "graph/dtype.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// ToOnnxNumber returns the type's number in ONNX's TensorProto.DataType; the type must not be
// opaque. FromOnnxNumber returns the type that has the given number, or Unimplemented if the number
// is unknown or belongs to an opaque type.
int64_t ToOnnxNumber(DType dtype);
absl::StatusOr<DType> FromOnnxNumber(const OnnxImport& node, int64_t number);

// `x` with element type `to`; `x` itself if it has that type.
absl::StatusOr<Value> Cast(OnnxImport& node, const Value& x, DType to);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_
