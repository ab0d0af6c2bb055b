// Batch normalization, for inference and for training.
#include "graph/gradient_form.h"
#include "graph/onnx_form.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/moments.h"
#include "graph/ops/norm_gradient.h"
#include "graph/ops/status_macros.h"

namespace lemma::ops {
namespace {

// x is [N,C,spatial…], all other inputs are vectors of C elements.
absl::Status RequireChannelVectors(OpContext& c) {
  static constexpr const char* kNames[] = {"x", "scale", "bias", "mean", "variance"};
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_REQUIRE(c, c.rank(0) >= 2, "x must be [N,C,spatial...], not of rank ", c.rank(0));
  for (int i = 1; i < c.num_inputs(); ++i) {
    LEMMA_RETURN_IF_ERROR(RequireVector(c, i, kNames[i], c.Dim(0, 1)));
  }
  return absl::OkStatus();
}

// y[n,c,i…] = (x[n,c,i…] - mean[c]) * scale[c] / sqrt(variance[c] + epsilon) + bias[c].
absl::Status DefineBatchNorm(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannelVectors(c));
  TensorId factor = c.Local(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) {
    return c.Read(1, k) / Apply(ScalarFn::kSqrt, c.Read(4, k) + c.Real("epsilon"));
  });
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx channel = {i[1]};
    return (c.Read(0, i) - c.Read(3, channel)) * c.Read(factor, channel) + c.Read(2, channel);
  });
  return absl::OkStatus();
}

// The same with the mean and the variance of x over all its axes but c; both are outputs too.
absl::Status DefineBatchNormTraining(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannelVectors(c));
  std::vector<int> over = {0};
  for (int i = 2; i < c.rank(0); ++i) over.push_back(i);
  LEMMA_RETURN_IF_ERROR(RequireNotEmpty(c, over));
  Moments m = LocalMoments(c, over);
  TensorId factor = c.Local(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) {
    return c.Read(1, k) / Apply(ScalarFn::kSqrt, c.Read(m.variance, k) + c.Real("epsilon"));
  });
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx channel = {i[1]};
    return (c.Read(0, i) - c.Read(m.mean, channel)) * c.Read(factor, channel) + c.Read(2, channel);
  });
  c.Output(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) { return c.Read(m.mean, k); });
  c.Output(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) { return c.Read(m.variance, k); });
  return absl::OkStatus();
}

// All axes but c.
std::vector<int64_t> OverChannels(const Value& x) { return AxesBut(x.type().rank(), {1}); }

// dx = dy * f, dscale = s * inverse, dbias = t, dmean = -t * f, dvariance = -s/2 * f * inverse²,
// inverse = 1 / sqrt(variance + epsilon), f = scale * inverse, and sums over all axes but c
// s = sum(dy * (x - mean)), t = sum(dy).
std::vector<Value> BatchNormGradient(GradientForm& f) {
  const Value &x = f.Input(0), &scale = f.Input(1), &dy = f.ResultGradient();
  const int rank = x.type().rank();
  const Value inverse = InverseDeviation(f, f.Input(4), f.node().Float("epsilon"));
  const Value factor = f.Mul(scale, inverse);
  const Value centered = f.Sub(x, PerChannel(f, f.Input(3), rank));
  const Value s = f.Sum(f.Mul(dy, centered), OverChannels(x)), t = f.Sum(dy, OverChannels(x));
  return {f.Mul(dy, PerChannel(f, factor, rank)), f.Mul(s, inverse), t, f.Neg(f.Mul(t, factor)),
          f.Mul(f.Mul(f.Mul(s, factor), f.Square(inverse)), -0.5)};
}

// With z = (x - mean) * inverse and M elements per channel: dscale = sum(dy * z), dbias = sum(dy),
// dx = scale * inverse * (dy - dbias/M - z * dscale/M) + dmean/M + 2/M * (x - mean) * dvariance.
std::vector<Value> BatchNormTrainingGradient(GradientForm& f) {
  const Value &x = f.Input(0), &scale = f.Input(1), &dy = f.ResultGradient();
  const int rank = x.type().rank();
  const double count = static_cast<double>(x.type().num_elements()) / x.shape()[1];
  auto channels = [&](const Value& v) { return PerChannel(f, v, rank); };
  const Value centered = f.Sub(x, channels(f.Output(1)));
  Value dscale, dbias, dx;
  if (dy) {
    const Value inverse = InverseDeviation(f, f.Output(2), f.node().Float("epsilon"));
    const Value z = f.Mul(centered, channels(inverse));
    dscale = f.Sum(f.Mul(dy, z), OverChannels(x));
    dbias = f.Sum(dy, OverChannels(x));
    const Value off =
        f.Sub(f.Sub(dy, channels(f.Div(dbias, count))), f.Mul(z, channels(f.Div(dscale, count))));
    dx = f.Mul(off, channels(f.Mul(scale, inverse)));
  }
  if (const Value& dmean = f.ResultGradient(1)) {
    dx = f.Add(dx, f.Expand(channels(f.Div(dmean, count)), x.shape()));
  }
  if (const Value& dvariance = f.ResultGradient(2)) {
    dx = f.Add(dx, f.Mul(centered, channels(f.Div(f.Mul(dvariance, 2), count))));
  }
  return {dx, dscale, dbias};
}

AttrSpec Epsilon() { return {"epsilon", AttrKind::kFloat, 1e-5, true, "added to the variance"}; }

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

// Statistics by reductions, then the inference form. ONNX has a training form, but ONNX Runtime
// lets its statistics overwrite each other where they are not the model's own outputs.
absl::Status ExportTraining(OnnxExport& out) {
  const Node& node = out.node();
  std::vector<int64_t> axes = {0};
  for (int i = 2; i < node.type(0).rank(); ++i) axes.push_back(i);
  auto average = [&](const std::string& x, const std::string& y, int64_t keepdims) {
    out.Emit("ReduceMean", {x}, {y}, {{"axes", axes}, {"keepdims", keepdims}});
  };
  std::string mean = out.Output(1), variance = out.Output(2);
  std::string center = out.Temporary(), difference = out.Temporary(), square = out.Temporary();
  average(out.Input(0), mean, 0);
  average(out.Input(0), center, 1);
  out.Emit("Sub", {out.Input(0), center}, {difference});
  out.Emit("Mul", {difference, difference}, {square});
  average(square, variance, 0);
  out.Emit("BatchNormalization", {out.Input(0), out.Input(1), out.Input(2), mean, variance},
           {out.Output(0)}, {{"epsilon", node.Float("epsilon")}});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_batch_norm() {
  OpDef op;
  op.name = "batch_norm";
  op.group = "normalization";
  op.equation =
      "y[n,c,i…] = (x[n,c,i…] - mean[c]) * scale[c] / sqrt(variance[c] + epsilon) + bias[c]";
  op.input_names = {"x", "scale", "bias", "mean", "variance"};
  op.min_inputs = op.max_inputs = 5;
  op.attrs = {Epsilon()};
  op.define = DefineBatchNorm;
  op.gradient = BatchNormGradient;
  op.examples = {"(f32[2,3,4,5], f32[3], f32[3], f32[3], f32[3])",
                 "(f32[4,2], f32[2], f32[2], f32[2], f32[2]) {epsilon = 0.1}",
                 "(f32[1,3,5], f32[3], f32[3], f32[3], f32[3])"};
  op.onnx_import = {{"BatchNormalization", ImportBatchNorm}};
  op.onnx_export = ExportAs("BatchNormalization", {{"epsilon", "epsilon"}});
  return op;
}

OpDef Make_batch_norm_training() {
  OpDef op;
  op.name = "batch_norm_training";
  op.group = "normalization";
  op.equation =
      "y[n,c,i…] = (x[n,c,i…] - mean[c]) * scale[c] / sqrt(variance[c] + epsilon) + bias[c], "
      "mean[c] = sum(n < N, i… < I…) x[n,c,i…] / (N*I…), "
      "variance[c] = sum(n < N, i… < I…) (x[n,c,i…] - mean[c])^2 / (N*I…)";
  op.doc = "Outputs y, mean, variance. The variance is that of the population: divided by N*I….";
  op.input_names = {"x", "scale", "bias"};
  op.min_inputs = op.max_inputs = 3;
  op.attrs = {Epsilon()};
  op.define = DefineBatchNormTraining;
  op.gradient = BatchNormTrainingGradient;
  op.examples = {"(f32[2,3,4,5], f32[3], f32[3])", "(f32[4,2], f32[2], f32[2]) {epsilon = 0.1}",
                 "(f32[1,2,5], f32[2], f32[2])"};
  op.onnx_export = ExportTraining;
  return op;
}

}  // namespace lemma::ops
