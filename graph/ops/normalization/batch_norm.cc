// Batch normalization with given statistics, and its ONNX import.
#include "graph/ops/normalization/batch_norm.h"

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/ops/checks.h"
#include "graph/ops/normalization/norm_gradient.h"

namespace lemma::ops {
namespace {

// y[n,c,i…] = (x[n,c,i…] - mean[c]) * scale[c] / sqrt(variance[c] + epsilon) + bias[c].
absl::Status DefineBatchNorm(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannelVectors(c, {"scale", "bias", "mean", "variance"}));
  TensorId factor = c.Local(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) {
    return c.Read(1, k) / Apply(ScalarFn::kSqrt, c.Read(4, k) + c.Real("epsilon"));
  });
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx channel = {i[1]};
    return (c.Read(0, i) - c.Read(3, channel)) * c.Read(factor, channel) + c.Read(2, channel);
  });
  return absl::OkStatus();
}

// dx = dy * f, dscale = s * inverse, dbias = t, dmean = -t * f, dvariance = -s/2 * f * inverse²,
// inverse = 1 / sqrt(variance + epsilon), f = scale * inverse, and sums over all axes but c
// s = sum(dy * (x - mean)), t = sum(dy).
std::vector<Value> BatchNormGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &scale = f.Input(1), &dy = f.ResultGradient();
  const int rank = x.type().rank();
  const Value inverse = InverseDeviation(f, f.Input(4), f.node().Float("epsilon"));
  const Value factor = f.Mul(scale, inverse);
  const Value centered = f.Sub(x, PerChannel(f, f.Input(3), rank));
  const Value s = f.Sum(f.Mul(dy, centered), AllButChannels(x)), t = f.Sum(dy, AllButChannels(x));
  return {f.Mul(dy, PerChannel(f, factor, rank)), f.Mul(s, inverse), t, f.Neg(f.Mul(t, factor)),
          f.Mul(f.Mul(f.Mul(s, factor), f.Square(inverse)), -0.5)};
}

// momentum * old + (1 - momentum) * now.
absl::StatusOr<Value> RunningAverage(OnnxImport& node, const Value& old, const Value& now,
                                     double momentum) {
  if (momentum == 0) return now;
  LEMMA_ASSIGN_OR_RETURN(Value keep, node.Scalar(old.dtype(), momentum));
  LEMMA_ASSIGN_OR_RETURN(Value take, node.Scalar(old.dtype(), 1 - momentum));
  LEMMA_ASSIGN_OR_RETURN(Value kept, node.Op("mul", {old, keep}));
  LEMMA_ASSIGN_OR_RETURN(Value taken, node.Op("mul", {now, take}));
  return node.Op("add", {kept, taken});
}

absl::StatusOr<std::vector<Value>> ImportBatchNorm(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(int64_t spatial, node.Int("spatial", 1));
  if (spatial != 1) return node.Unsupported("spatial = 0");
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", 1e-5));
  LEMMA_ASSIGN_OR_RETURN(double momentum, node.Float("momentum", 0.9));
  LEMMA_ASSIGN_OR_RETURN(int64_t training, node.Int("training_mode", 0));
  std::vector<Value> in;
  for (int i = 0; i < 5; ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value v, node.Input(i));
    in.push_back(v);
  }
  // ONNX allows statistics in a wider type than x.
  for (int i = 1; i < 5; ++i) {
    if (in[i].dtype() != in[0].dtype()) {
      return node.Unsupported("inputs of several element types");
    }
  }
  if (training == 0) {
    if (node.num_outputs() > 1) return node.Unsupported("training before operator set 14");
    return node.Ops("batch_norm", in, {{"epsilon", epsilon}});
  }
  LEMMA_ASSIGN_OR_RETURN(
      std::vector<Value> out,
      node.Ops("batch_norm_training", {in[0], in[1], in[2]}, {{"epsilon", epsilon}}));
  LEMMA_ASSIGN_OR_RETURN(out[1], RunningAverage(node, in[3], out[1], momentum));
  LEMMA_ASSIGN_OR_RETURN(out[2], RunningAverage(node, in[4], out[2], momentum));
  return out;
}

}  // namespace

absl::Status RequireChannelVectors(OpContext& c, const std::vector<const char*>& names) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_REQUIRE(c, c.rank(0) >= 2, "x must be [N,C,spatial...], not of rank ", c.rank(0));
  for (size_t i = 0; i < names.size(); ++i) {
    LEMMA_RETURN_IF_ERROR(RequireVector(c, static_cast<int>(i) + 1, names[i], c.Dim(0, 1)));
  }
  return absl::OkStatus();
}

std::vector<int64_t> AllButChannels(const Value& x) { return AxesBut(x.type().rank(), {1}); }

AttrSpec BatchNormEpsilon() {
  return {"epsilon", AttrKind::kFloat, 1e-5, true, "added to the variance"};
}

OpDef Make_batch_norm() {
  OpDef op;
  op.name = "batch_norm";
  op.group = "normalization";
  op.equation =
      "y[n,c,i…] = (x[n,c,i…] - mean[c]) * scale[c] / sqrt(variance[c] + epsilon) + bias[c]";
  op.input_names = {"x", "scale", "bias", "mean", "variance"};
  op.min_inputs = op.max_inputs = 5;
  op.attrs = {BatchNormEpsilon()};
  op.define = DefineBatchNorm;
  op.gradient = BatchNormGradient;
  op.examples = {"(f32[2,3,4,5], f32[3], f32[3], f32[3], f32[3])",
                 "(f32[4,2], f32[2], f32[2], f32[2], f32[2]) {epsilon = 0.1}",
                 "(f32[1,3,5], f32[3], f32[3], f32[3], f32[3])"};
  op.onnx_import = {{"BatchNormalization", ImportBatchNorm}};
  op.onnx_export = ExportAs("BatchNormalization", {{"epsilon", "epsilon"}});
  return op;
}

}  // namespace lemma::ops
