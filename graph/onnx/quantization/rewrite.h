// Writes a model with operators quantized. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_REWRITE_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_REWRITE_H_

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/quantization/model_impl.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// Implements QuantizableModel::Quantize; errors do not name the model's file. Appends the lines of
// QuantizedModel::notes to `notes`.
absl::StatusOr<onnx::ModelProto> MakeQuantized(const QuantizableModel::Impl& model,
                                               const QuantizationPlan& plan,
                                               std::vector<std::string>* notes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_REWRITE_H_
