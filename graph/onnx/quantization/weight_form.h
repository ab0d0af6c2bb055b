// Writes the form kWeights: weights are stored as integers, operators compute with floats. Internal
// to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_WEIGHT_FORM_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_WEIGHT_FORM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "graph/onnx/quantization/model_editor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Without blocks (WeightOptions::block), a weight becomes an 8-bit constant with a
// DequantizeLinear, and BatchNormalization nodes among the operator's followers are folded into the
// constants. With blocks, the product becomes a MatMulNBits of com.microsoft. `notes` receives the
// lines of QuantizedModel::notes.
absl::Status WriteWeightForm(const QuantizableModel::Impl& model, const QuantizationPlan& plan,
                             ModelEditor* editor, std::vector<std::string>* notes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_WEIGHT_FORM_H_
