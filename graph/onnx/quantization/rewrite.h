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

// Does the work of QuantizableModel::Quantize; errors lack the path. `notes` receives the lines of
// QuantizedModel::notes.
absl::StatusOr<onnx::ModelProto> MakeQuantized(const QuantizableModel::Impl& model,
                                               const QuantizationPlan& plan,
                                               std::vector<std::string>* notes);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_REWRITE_H_
