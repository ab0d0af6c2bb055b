// Adds numbers to the biases of products. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_BIAS_SHIFT_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_BIAS_SHIFT_H_

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// If the operator is a MatMul without a bias in `weights` for which the plan has a shift
// (QuantizationPlan::bias_shifts), adds the shift to its result: to the constant of an Add, if this
// Add alone reads the result, otherwise by a new Add. Call this function before the result is
// quantized. Does nothing for other operators: QuantizableModel::WeightsOf shifts their biases. An
// error if the constant cannot be read.
absl::Status WriteShiftOfMatMul(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                                const QuantizableOp& op, const ProductWeights& weights,
                                ModelEditor* editor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_BIAS_SHIFT_H_
