// Imports the activation that a fused operator of com.microsoft applies to its result.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_ACTIVATION_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_ACTIVATION_H_

#include "absl/status/statusor.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// f(x), where the attribute `activation` names f; x if the node lacks the
// attribute. The parameters of f are in `activation_params` or, for FusedGemm,
// in `activation_alpha` and `activation_beta`. f may be Relu, Sigmoid, Tanh,
// HardSwish, Softplus, Softsign, Elu, LeakyRelu, Clip or HardSigmoid.
// Unimplemented for any other f, and if one of the last four has a wrong number
// of parameters.
absl::StatusOr<Value> ApplyNamedActivation(OnnxImport& node, const Value& x);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_ACTIVATION_H_
