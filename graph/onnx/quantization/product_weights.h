// The constants of a product, rounded. Internal to graph/onnx/quantization.
#ifndef LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_
#define LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/quantization/model_index.h"
#include "graph/onnx/quantization/quantizable_model.h"

namespace lemma {

// See QuantizableModel::WeightsOf. InvalidArgument if a constant is not finite.
absl::StatusOr<ProductWeights> MakeProductWeights(const ModelIndex& index,
                                                  const std::vector<QuantizableOp>& ops,
                                                  const QuantizableOp& op,
                                                  const QuantizationPlan& plan);

// The parameters of a value: those of the operand if a chosen selection makes it.
const QuantParams& ParamsOf(const std::vector<QuantizableOp>& ops, const QuantizationPlan& plan,
                            const std::string& value);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_QUANTIZATION_PRODUCT_WEIGHTS_H_
