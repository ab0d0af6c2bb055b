// Gelu and gated activations.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/transformer/parts.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

Values Finish(const OnnxBuild& b, const Value& y) {
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// x * sigmoid(alpha * x).
Value Swish(OnnxBuild& b, const Value& x, double alpha) {
  if (alpha == 1) return b.Op("silu", {x});
  return b.Mul(x, b.Op("sigmoid", {b.Mul(x, alpha)}));
}

Values ImportGelu(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(std::string approximate, node.String("approximate", "none"));
  if (approximate != "none" && approximate != "tanh") {
    return absl::InvalidArgumentError(
        absl::StrCat("approximate is ", approximate, ", it must be none or tanh"));
  }
  return Finish(b, b.Op(approximate == "tanh" ? "gelu_tanh" : "gelu", {b.Input(0)}));
}

Values ImportSwish(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(double alpha, node.Float("alpha", 1.0));
  return Finish(b, Swish(b, b.Input(0), alpha));
}

Values ImportSwiGlu(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(double alpha, node.Float("alpha", 1.0));
  LEMMA_ASSIGN_OR_RETURN(Value gate, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(1));
  if (gate.shape() != x.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("A ", ToString(gate.shape()), " and B ",
                                                   ToString(x.shape()), " must have one shape"));
  }
  return Finish(b, b.Mul(Swish(b, gate, alpha), x));
}

// gelu(x + bias); input 1 may be absent.
Values ImportBiasedGelu(OnnxImport& node, const char* gelu) {
  OnnxBuild b(node);
  Value x = b.Input(0);
  if (node.HasInput(1)) x = b.Add(x, b.Input(1));
  return Finish(b, b.Op(gelu, {x}));
}

Values ImportQuickGelu(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(double alpha, node.Float("alpha", 1.702));
  return Finish(b, Swish(b, b.Input(0), alpha));
}

}  // namespace

std::vector<OnnxImporter> GatedActivations() {
  auto erf = [](OnnxImport& node) { return ImportBiasedGelu(node, "gelu"); };
  auto tanh = [](OnnxImport& node) { return ImportBiasedGelu(node, "gelu_tanh"); };
  return {{"Gelu", ImportGelu},
          {"Swish", ImportSwish},
          {"SwiGLU", ImportSwiGlu},
          {"com.microsoft.Gelu", erf},
          {"com.microsoft.BiasGelu", erf},
          {"com.microsoft.FastGelu", tanh},
          {"com.microsoft.QuickGelu", ImportQuickGelu}};
}

}  // namespace lemma::ops
