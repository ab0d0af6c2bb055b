#include "graph/onnx/composites/activation.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::ops {

absl::StatusOr<Value> ApplyNamedActivation(OnnxImport& node, const Value& x) {
  LEMMA_ASSIGN_OR_RETURN(std::string name, node.String("activation", ""));
  LEMMA_ASSIGN_OR_RETURN(std::vector<double> p,
                         node.Floats("activation_params", std::vector<double>{}));
  if (name.empty()) return x;
  if (p.empty()) {
    // FusedGemm names its parameters.
    for (const char* parameter : {"activation_alpha", "activation_beta"}) {
      LEMMA_ASSIGN_OR_RETURN(const double given, node.Float(parameter, NAN));
      if (!std::isnan(given)) p.push_back(given);
    }
  }
  if (name == "Relu") return node.Op("relu", {x});
  if (name == "Sigmoid") return node.Op("sigmoid", {x});
  if (name == "Tanh") return node.Op("tanh", {x});
  if (name == "HardSwish") return node.Op("hard_swish", {x});
  if (name == "Softplus") return node.Op("softplus", {x});
  if (name == "Softsign") return node.Op("softsign", {x});
  if (name == "Elu" && p.size() == 1) return node.Op("elu", {x}, {{"alpha", p[0]}});
  if (name == "LeakyRelu" && p.size() == 1) return node.Op("leaky_relu", {x}, {{"alpha", p[0]}});
  if (name == "Clip" && p.size() == 2) {
    return node.Op("clip", {x}, {{"min", p[0]}, {"max", p[1]}});
  }
  if (name == "HardSigmoid" && p.size() == 2) {
    return node.Op("hard_sigmoid", {x}, {{"alpha", p[0]}, {"beta", p[1]}});
  }
  return node.Unsupported(absl::StrCat("activation ", name, " with ", p.size(), " parameters"));
}

}  // namespace lemma::ops
