// Writes the static form: operators between DequantizeLinear and QuantizeLinear. Internal to
// graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Weights become 8-bit constants and biases 32-bit constants, each with a DequantizeLinear. A bias
// whose scales are very small stays in floats, and so does a bias of a MatMul that exceeds 2^30
// times its scale. Each value that quantized operators read, or write as integers, gets a pair of
// QuantizeLinear and DequantizeLinear. If a quantized operator writes the value as integers, all
// readers of the value read the pair's result; otherwise only quantized operators read it. `notes`
// receives the lines of QuantizedModel::notes.
absl::Status WriteStaticForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes);

// If the model's operator set is too low for `plan`, raises it and adds a note. QuantizeLinear and
// DequantizeLinear need operator set 10 or, with a scale for each channel, 13. Errors as in
// ModelEditor::RaiseOpset.
absl::Status RaiseOpsetFor(const QuantizationPlan& plan, ModelEditor* editor,
                           std::vector<std::string>* notes);
// Calls `write` with each chosen operator that has a constant weight, in the model's order.
absl::Status WriteWeights(
    const QuantizableModel::Impl& model, const QuantizationPlan& plan,
    absl::FunctionRef<absl::Status(const QuantizableOp&, const ProductWeights&)> write);
// Lets the chosen operators read `to` in place of `value`.
void LetChosenRead(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                   const std::string& value, const std::string& to, ModelEditor* editor);
// Replaces the weight operand of the operator's node by a DequantizeLinear of the quantized weight.
absl::Status WriteQuantizedWeight(const QuantizableOp& op, const ProductWeights& weights,
                                  ModelEditor* editor);
// Writes the bias in `weights`: as operand 2 of the operator's node or, for a MatMul, as an operand
// of the Add behind it. The operand is a DequantizeLinear of integers if the bias is rounded,
// otherwise a constant of floats. Does nothing if there is no bias.
absl::Status WriteBias(const QuantizableOp& op, const ProductWeights& weights, ModelEditor* editor);
// Removes the BatchNormalization nodes among the operator's followers; ProductWeights includes
// their effect. The product's node then computes their result.
void RemoveNorms(const QuantizableModel::Impl& model, const QuantizableOp& op, ModelEditor* editor);
// Calls RemoveNorms and, if this removed a node, WriteBias. Otherwise the bias stays as it is.
absl::Status FoldNorms(const QuantizableModel::Impl& model, const QuantizableOp& op,
                       const ProductWeights& weights, ModelEditor* editor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_STATIC_FORM_H_
