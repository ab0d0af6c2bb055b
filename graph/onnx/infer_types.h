// The types of an ONNX node's outputs, by ONNX's own inference. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_INFER_TYPES_H_
#define LEMMA_GRAPH_ONNX_INFER_TYPES_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace lemma {

// A type of which some sizes may be unknown.
struct OpenType {
  DType dtype = DType::kF32;
  std::vector<std::optional<int64_t>> dims;

  std::optional<TensorType> Complete() const;  // nullopt if a size is unknown
};

// A value that a node reads, as far as it is known.
struct KnownValue {
  TensorType type;
  std::optional<Tensor> elements;
};

// The types of the outputs of `model`'s only node by their names, as far as ONNX's inference finds
// their ranks. For ONNX, a symbolic size of an operand is an unknown size that equals itself.
// `values` are the values that the node reads, with those that its subgraphs capture. Finds nothing
// if the node, or one in its subgraphs or in the model's functions, has an operator that may mean
// something else in its operator set than the linked library knows.
std::map<std::string, OpenType> InferredTypes(onnx::ModelProto model,
                                              const std::map<std::string, KnownValue>& values);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_INFER_TYPES_H_
