// The optimizer steps of ONNX's training preview, element-wise over any number of tensors.
#include <functional>
#include <string>

#include "base/status_macros.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// The inputs are the rate R, the step T, and for n tensors all X, then all G, then the states, each
// kind together. The outputs are all X', then the new states in the same order. `update` takes X, G
// and the states of one tensor.
using Update = std::function<std::vector<Value>(OnnxBuild&, const std::vector<Value>&)>;
Values ForEachTensor(OnnxImport& node, int kinds, const Update& update) {
  if (node.num_inputs() < 2) return absl::InvalidArgumentError("the number of inputs does not fit");
  const int count = (node.num_inputs() - 2) / kinds;
  if (count < 1 || 2 + count * kinds != node.num_inputs()) {
    return absl::InvalidArgumentError("the number of inputs does not fit");
  }
  OnnxBuild b(node);
  std::vector<Value> results((kinds - 1) * count);
  for (int i = 0; i < count; ++i) {
    std::vector<Value> inputs;
    for (int kind = 0; kind < kinds; ++kind) inputs.push_back(b.Input(2 + kind * count + i));
    if (!b.status().ok()) return b.status();
    std::vector<Value> outputs = update(b, inputs);
    for (int kind = 0; kind + 1 < kinds; ++kind) results[kind * count + i] = outputs[kind];
  }
  if (!b.status().ok()) return b.status();
  return results;
}

// T > 0 ? later : first.
Value AfterFirst(OnnxBuild& b, const Value& step, const Value& later, const Value& first) {
  if (!step) return step;
  return b.Op("where", {b.Op("greater", {step, b.Scalar(step.dtype(), 0)}), later, first});
}

// r = R / (1 + decay T), g = G + norm X, H' = H + g^2, X' = X - r g / (sqrt(H') + epsilon).
Values ImportAdagrad(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(double decay, node.Float("decay_factor", 0.0));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", 1e-6));
  LEMMA_ASSIGN_OR_RETURN(double norm, node.Float("norm_coefficient", 0.0));
  LEMMA_ASSIGN_OR_RETURN(Value rate, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value step, node.Input(1));
  return ForEachTensor(node, 3, [&](OnnxBuild& b, const std::vector<Value>& in) {
    Value r = b.Div(rate, b.Add(b.Mul(b.Cast(step, rate.dtype()), decay), 1));
    Value g = b.Add(in[1], b.Mul(in[0], norm));
    Value h = b.Add(in[2], b.Mul(g, g));
    Value change = b.Div(b.Mul(r, g), b.Add(b.Op("sqrt", {h}), epsilon));
    return std::vector<Value>{b.Sub(in[0], change), h};
  });
}

// g = G + norm X, V' = alpha V + (T > 0 ? beta : 1) g,
// X' = X - R V', or with Nesterov's momentum X - R (g + alpha V').
Values ImportMomentum(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(double alpha, node.Float("alpha"));
  LEMMA_ASSIGN_OR_RETURN(double beta, node.Float("beta"));
  LEMMA_ASSIGN_OR_RETURN(double norm, node.Float("norm_coefficient"));
  LEMMA_ASSIGN_OR_RETURN(std::string mode, node.String("mode"));
  if (mode != "standard" && mode != "nesterov") return node.Unsupported("mode " + mode);
  LEMMA_ASSIGN_OR_RETURN(Value rate, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value step, node.Input(1));
  return ForEachTensor(node, 3, [&](OnnxBuild& b, const std::vector<Value>& in) {
    Value g = b.Add(in[1], b.Mul(in[0], norm));
    Value weight = AfterFirst(b, step, b.Scalar(rate.dtype(), beta), b.Scalar(rate.dtype(), 1));
    Value v = b.Add(b.Mul(in[2], alpha), b.Mul(weight, g));
    Value direction = mode == "standard" ? v : b.Add(g, b.Mul(v, alpha));
    return std::vector<Value>{b.Sub(in[0], b.Mul(rate, direction)), v};
  });
}

// g = G + norm X, V' = alpha V + (1 - alpha) g, H' = beta H + (1 - beta) g^2,
// r = T > 0 ? R sqrt(1 - beta^T) / (1 - alpha^T) : R,
// X' = (1 - norm_post) (X - r V' / (sqrt(H') + epsilon)).
Values ImportAdam(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(double alpha, node.Float("alpha", 0.9));
  LEMMA_ASSIGN_OR_RETURN(double beta, node.Float("beta", 0.999));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", 1e-6));
  LEMMA_ASSIGN_OR_RETURN(double norm, node.Float("norm_coefficient", 0.0));
  LEMMA_ASSIGN_OR_RETURN(double norm_post, node.Float("norm_coefficient_post", 0.0));
  LEMMA_ASSIGN_OR_RETURN(Value rate, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value step, node.Input(1));
  return ForEachTensor(node, 4, [&](OnnxBuild& b, const std::vector<Value>& in) {
    Value t = b.Cast(step, rate.dtype());
    auto remainder = [&](double base) {  // 1 - base^T
      return b.Sub(1, b.Op("pow", {b.Scalar(rate.dtype(), base), t}));
    };
    Value corrected = b.Div(b.Mul(rate, b.Op("sqrt", {remainder(beta)})), remainder(alpha));
    Value r = AfterFirst(b, step, corrected, rate);
    Value g = b.Add(in[1], b.Mul(in[0], norm));
    Value v = b.Add(b.Mul(in[2], alpha), b.Mul(g, 1 - alpha));
    Value h = b.Add(b.Mul(in[3], beta), b.Mul(b.Mul(g, g), 1 - beta));
    Value x = b.Sub(in[0], b.Div(b.Mul(r, v), b.Add(b.Op("sqrt", {h}), epsilon)));
    return std::vector<Value>{b.Mul(x, 1 - norm_post), v, h};
  });
}

}  // namespace

std::vector<OnnxImporter> OptimizerComposites() {
  return {{"ai.onnx.preview.training.Adagrad", ImportAdagrad},
          {"ai.onnx.preview.training.Momentum", ImportMomentum},
          {"ai.onnx.preview.training.Adam", ImportAdam}};
}

}  // namespace lemma::ops
