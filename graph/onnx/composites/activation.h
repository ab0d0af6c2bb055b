// Imports the activation that a fused operator of com.microsoft applies to its result.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_ACTIVATION_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_ACTIVATION_H_

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// f(x), where the attributes `activation` and `activation_params` give f; x if `activation` is
// absent. Unimplemented unless f is Relu, Sigmoid, Tanh, LeakyRelu, Clip or HardSigmoid, with as
// many parameters as f has.
absl::StatusOr<Value> ApplyNamedActivation(OnnxImport& node, const Value& x);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_ACTIVATION_H_
