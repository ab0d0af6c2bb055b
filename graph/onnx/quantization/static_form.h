// Operators between DequantizeLinear and QuantizeLinear. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Weights become constants of 8 bits and a DequantizeLinear, biases such constants of 32 bits. Each
// value that quantized operators read or write gets a pair of QuantizeLinear and
// DequantizeLinear. Who reads a value that a quantized operator writes reads it behind the pair;
// of other values only quantized operators read the pair.
absl::Status WriteStaticForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes);

// Puts a DequantizeLinear of constants before the node, in place of the weight.
absl::Status WriteQuantizedWeight(const QuantizableOp& op, const ProductWeights& weights,
                                  ModelEditor* editor);
// Puts the bias before the node: rounded if it is in `weights`, else as floats.
absl::Status WriteBias(const QuantizableOp& op, const ProductWeights& weights, ModelEditor* editor);
// Removes the BatchNormalization nodes among the operator's followers, whose factors are in the
// weight; the product then makes their result.
void RemoveNorms(const QuantizableModel::Impl& model, const QuantizableOp& op, ModelEditor* editor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_
