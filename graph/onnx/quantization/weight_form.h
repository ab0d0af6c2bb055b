// Weights that are stored as integers; the operators compute with floats. Internal to
// graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_WEIGHT_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_WEIGHT_FORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// A weight becomes a DequantizeLinear of 8 bits or, in blocks, its product a MatMulNBits of
// com.microsoft.
absl::Status WriteWeightForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_WEIGHT_FORM_H_
