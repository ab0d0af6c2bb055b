// Imports the activation functions of RNN, GRU and LSTM. Some of them have
// parameters, alpha and beta.
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
  std::string name;  // ONNX's, such as "Tanh"
  double alpha = 0, beta = 0;
};

// The activations that the attributes of the node give: first those of
// direction 0, then those of direction 1, if `directions` is 2. `usual` are the
// activations of each direction if the attribute `activations` is absent. The
// values of activation_alpha belong, in order, to the activations that have an
// alpha; likewise for beta. Where values are missing, the defaults of ONNX's
// operators of the same names are taken. InvalidArgument if `activations` has
// the wrong number of names. Unimplemented if an activation is unknown, or if a
// default is needed but does not exist. Also Unimplemented if there are more
// values of alpha (or beta) than activations that have an alpha (or beta): ONNX
// does not say to which activations the values belong.
absl::StatusOr<std::vector<RecurrentActivation>> ReadActivations(
    OnnxImport& node, const std::vector<std::string>& usual, int64_t directions);

// f(x), element by element.
Value Activate(OnnxBuild& b, const RecurrentActivation& f, const Value& x);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_RECURRENT_ACTIVATIONS_H_
