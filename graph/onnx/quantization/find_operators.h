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

// The operators of the main graph, in its order. Subgraphs and functions are left as they are;
// `kept` names the nodes that have them.
FoundOperators FindOperators(const ModelIndex& index);

// The operator of the model that is quantized already, such as a QuantizeLinear; "" if none is.
std::string QuantizedAlready(const onnx::ModelProto& model);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_FIND_OPERATORS_H_
