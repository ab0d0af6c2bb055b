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

// The operators of the main graph that can be quantized, in the graph's order; subgraphs and
// functions are not searched. `kept` lists the nodes with subgraphs, and the products that cannot
// be quantized.
FoundOperators FindOperators(const ModelIndex& index);

// The type and name of the first node that is already quantized, such as "QuantizeLinear 'q1'"; ""
// if there is none. Searches the main graph and its subgraphs, but no functions. A node counts if
// its type contains "QuantizeLinear", begins with "QLinear", or is MatMulInteger, ConvInteger or
// MatMulNBits.
std::string QuantizedAlready(const onnx::ModelProto& model);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_FIND_OPERATORS_H_
