// Infers the types of an ONNX node's outputs, with ONNX's own inference. Internal to graph/onnx.
#ifndef LEMMA_GRAPH_ONNX_INFER_TYPES_H_
#define LEMMA_GRAPH_ONNX_INFER_TYPES_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace lemma {

// A type whose sizes may be unknown.
struct OpenType {
  DType dtype = DType::kF32;
  std::vector<std::optional<int64_t>> dims;

  std::optional<TensorType> Complete() const;  // nullopt if a size is unknown
};

// A value that a node reads, as far as it is known: its type and perhaps its elements.
struct KnownValue {
  TensorType type;
  std::optional<Tensor> elements;
};

// The types of the outputs of `model`'s only node, by name. Outputs whose ranks ONNX's inference
// does not find are left out. ONNX sees a symbolic size of an operand as an unknown size with a
// name. `values` are the values that the node and its subgraphs read, by name. For Cast, CastLike,
// QuantizeLinear and DequantizeLinear, a rule of Lemma gives the type in every operator set. For
// other nodes, the result is empty in three cases: the node is a convolution whose weight and input
// have different ranks; ONNX's inference fails; or the model, or one of its functions, is of an
// operator set after 17 and contains (also in subgraphs) an operator whose type rules changed
// after set 17. ONNX's inference runs in a process of its own, for at most 2 s of CPU time.
std::map<std::string, OpenType> InferredTypes(onnx::ModelProto model,
                                              const std::map<std::string, KnownValue>& values);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_INFER_TYPES_H_
