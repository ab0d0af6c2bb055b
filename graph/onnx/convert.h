// Converts types and tensors between ONNX's messages and Lemma. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_CONVERT_H_
#define LEMMA_GRAPH_ONNX_CONVERT_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graph/tensor.h"

namespace lemma {

// Protobuf's limit on the size of a message.
constexpr int64_t kMaxProtoBytes = INT32_MAX;

int32_t ToOnnxType(DType dtype);
// Unimplemented: "unsupported: element type u16".
absl::StatusOr<DType> FromOnnxType(int32_t onnx_type);

// The tensor's values. Checks sizes before any allocation. External data must lie inside
// `directory`; if it is empty, they are refused.
absl::StatusOr<Tensor> ToTensor(const onnx::TensorProto& proto, const std::string& directory);

onnx::TensorProto ToProto(absl::string_view name, const Tensor& tensor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_CONVERT_H_
