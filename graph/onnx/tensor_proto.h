// Reads and writes tensors as serialized ONNX TensorProto messages.
#ifndef LEMMA_GRAPH_ONNX_TENSOR_PROTO_H_
#define LEMMA_GRAPH_ONNX_TENSOR_PROTO_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/tensor.h"

namespace lemma {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

// Reads a serialized TensorProto. InvalidArgument if `bytes` is not a TensorProto, if its data do
// not fit its shape, or if its data are external. Unimplemented ("unsupported: values of element
// type string") for a type that Lemma lacks or does not store.
absl::StatusOr<NamedTensor> ParseTensorProto(absl::string_view bytes);
// Reads a file, and its external data. Locations of external data are relative to the file's
// folder. Errors begin with the path.
absl::StatusOr<NamedTensor> ReadTensorProto(const std::string& path);

std::string SerializeTensorProto(absl::string_view name, const Tensor& tensor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_TENSOR_PROTO_H_
