// Computes the rounded constants of a product. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// As QuantizableModel::WeightsOf for the product `op`, which must be one of `ops`. Empty if `op`
// has no constant weight. InvalidArgument if a constant is not finite.
absl::StatusOr<ProductWeights> MakeProductWeights(const ModelIndex& index,
                                                  const std::vector<QuantizableOp>& ops,
                                                  const QuantizableOp& op,
                                                  const QuantizationPlan& plan);

// The parameters with which the plan quantizes `value`. If an operator of role kSelection that the
// plan chooses computes `value`, these are the parameters of the operator's operand. The plan must
// quantize the value. The reference is valid as long as `plan`.
const QuantParams& ParamsOf(const std::vector<QuantizableOp>& ops, const QuantizationPlan& plan,
                            const std::string& value);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_
