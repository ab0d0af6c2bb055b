// Finds the operators of a model that can be quantized. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_FIND_OPERATORS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_FIND_OPERATORS_H_

#include <string>
#include <vector>

#include "graph/onnx/quantization/model_index.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

struct FoundOperators {
  std::vector<QuantizableOp> operators;
  std::vector<KeptOp> kept;
};

// The operators of the main graph, in its order; subgraphs and functions are not searched. `kept`
// lists the nodes with subgraphs, and the products that cannot be quantized.
FoundOperators FindOperators(const ModelIndex& index);

// The type and name of the first node that is already quantized, such as "QuantizeLinear 'q1'"; ""
// if there is none. Searches the main graph and its subgraphs, but no functions, for these types:
// those that contain "QuantizeLinear" or begin with "QLinear"; MatMulInteger, ConvInteger and
// MatMulNBits.
std::string QuantizedAlready(const onnx::ModelProto& model);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_FIND_OPERATORS_H_
