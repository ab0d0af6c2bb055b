// Types and tensors between ONNX's messages and ours. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_CONVERT_H_
#define LEMMA_GRAPH_ONNX_CONVERT_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "graph/tensor.h"

namespace lemma {

// Messages of protobuf cannot be larger.
constexpr int64_t kMaxProtoBytes = INT32_MAX;

int32_t ToOnnxType(DType dtype);
// Unimplemented: "unsupported: element type u16".
absl::StatusOr<DType> FromOnnxType(int32_t onnx_type);

// The tensor's values. Sizes are compared before anything is allocated. `directory` is where
// external data lie; they may not be outside it. Empty: external data are refused.
absl::StatusOr<Tensor> ToTensor(const onnx::TensorProto& proto, const std::string& directory);

onnx::TensorProto ToProto(absl::string_view name, const Tensor& tensor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_CONVERT_H_
