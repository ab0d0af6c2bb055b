// Adds numbers to the biases of products. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_BIAS_SHIFT_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_BIAS_SHIFT_H_

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// If the operator is a MatMul for which the plan has a shift (QuantizationPlan::bias_shifts), adds
// the shift to the constant vector that an Add adds to the MatMul's result, or lets a new Add add
// it. The biases of Conv and Gemm are part of ProductWeights. Call it before the result is
// quantized.
absl::Status WriteShiftOfMatMul(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                                const QuantizableOp& op, ModelEditor* editor);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_CORRECTIONS_BIAS_SHIFT_H_
