// Writes the static form: operators between DequantizeLinear and QuantizeLinear. Internal to
// graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Weights become 8-bit constants, biases 32-bit constants, each with a DequantizeLinear. Each value
// that quantized operators read, or write as integers, gets a pair of QuantizeLinear and
// DequantizeLinear. If a quantized operator writes the value as integers, all its readers read the
// pair's result; otherwise only quantized operators do. `notes` receives the lines of
// QuantizedModel::notes.
absl::Status WriteStaticForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes);

// Raises the model's operator set if it is too low for `plan`, and then adds a note. QuantizeLinear
// and DequantizeLinear need operator set 10; with a scale for each channel, they need 13.
absl::Status RaiseOpsetFor(const QuantizationPlan& plan, ModelEditor* editor,
                           std::vector<std::string>* notes);
// Puts a DequantizeLinear of constants before the operator's node. The node then reads the result
// of the DequantizeLinear instead of the weight.
absl::Status WriteQuantizedWeight(const QuantizableOp& op, const ProductWeights& weights,
                                  ModelEditor* editor);
// Makes the bias of `weights` the node's operand 2: as integers with a DequantizeLinear if it is
// rounded, else as floats. Does nothing if there is no bias.
absl::Status WriteBias(const QuantizableOp& op, const ProductWeights& weights, ModelEditor* editor);
// Removes the BatchNormalization nodes among the operator's followers, whose effect is in
// ProductWeights. The product's node then makes their result.
void RemoveNorms(const QuantizableModel::Impl& model, const QuantizableOp& op, ModelEditor* editor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_
