// Converts element types to ONNX's type numbers and back, and casts values to
// other element types.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

// How ONNX's Cast treats small floats.
struct SmallCast {
  bool saturate = true;
  std::string round_mode = "up";  // for f8e8m0: "up", "down" or "nearest"
};
// The attributes `saturate` and `round_mode` of the node.
absl::StatusOr<SmallCast> ReadSmallCast(OnnxImport& node);
// The attributes with which ONNX's Cast computes the same as the operator `cast`.
std::vector<std::pair<std::string, OnnxAttr>> CastAttributes(DType to);
// `x` as ONNX's Cast converts it. CastAsOnnx differs from Cast in three ways. A
// float that becomes an integer of 4 or 2 bits is rounded to the nearest
// integer, ties to even, and wraps. A number that becomes a small float
// saturates if how.saturate is true (f4e2m1 saturates in Cast too). A number
// that becomes an f8e8m0 is rounded to a power of two by how.round_mode;
// InvalidArgument if there is no such mode.
absl::StatusOr<Value> CastAsOnnx(OnnxImport& node, Value x, DType to, const SmallCast& how);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_DTYPE_H_
