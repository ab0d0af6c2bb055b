// The types of an ONNX node's outputs, by ONNX's own inference. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_INFER_TYPES_H_
#define LEMMA_GRAPH_ONNX_INFER_TYPES_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>

#include "graph/tensor.h"

namespace lemma {

// What is known of a value that a node reads.
struct KnownValue {
  TensorType type;
  std::optional<Tensor> elements;
};

// The types of the outputs of `model`'s only node by their names, as far as ONNX's inference finds
// them completely. `values` are the values that the node reads, with those that its subgraphs
// capture. Finds nothing if the node, or one in its subgraphs or in the model's functions, has an
// operator that may mean something else in its operator set than the linked library knows.
std::map<std::string, TensorType> InferredTypes(onnx::ModelProto model,
                                                const std::map<std::string, KnownValue>& values);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_INFER_TYPES_H_
