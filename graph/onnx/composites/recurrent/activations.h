// The activations of RNN, GRU and LSTM, which have parameters of their own.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_ACTIVATIONS_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_ACTIVATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

struct RecurrentActivation {
  std::string name;  // ONNX's
  double alpha = 0, beta = 0;
};

// Those that the attributes of the node give, for one direction after the other; `usual`: those of
// a direction if the attributes give none. The values of activation_alpha belong to the activations
// that have an alpha, in order; the same holds for beta. Where values are missing, the defaults of
// ONNX's operators of these names are taken. Unimplemented if there is no default, or if there are
// more values than activations that have one: ONNX does not say whose they are.
absl::StatusOr<std::vector<RecurrentActivation>> ReadActivations(
    OnnxImport& node, const std::vector<std::string>& usual, int64_t directions);

Value Activate(OnnxBuild& b, const RecurrentActivation& f, const Value& x);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_ACTIVATIONS_H_
