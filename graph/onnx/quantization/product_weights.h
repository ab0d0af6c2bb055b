// Computes the rounded constants of a product. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// As QuantizableModel::WeightsOf. Empty if `op` has no constant weight. InvalidArgument if a
// constant is not finite.
absl::StatusOr<ProductWeights> MakeProductWeights(const ModelIndex& index,
                                                  const std::vector<QuantizableOp>& ops,
                                                  const QuantizableOp& op,
                                                  const QuantizationPlan& plan);

// The parameters of a value that the plan quantizes. The result of a chosen selection has those of
// its operand.
const QuantParams& ParamsOf(const std::vector<QuantizableOp>& ops, const QuantizationPlan& plan,
                            const std::string& value);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_
