// Batch normalization with the statistics of the batch, and its gradient.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/ops/checks.h"
#include "graph/ops/normalization/batch_norm.h"
#include "graph/ops/normalization/moments.h"
#include "graph/ops/normalization/norm_gradient.h"

namespace lemma::ops {
namespace {

std::vector<int> AllButChannels(const OpContext& c) {
  std::vector<int> over = {0};
  for (int i = 2; i < c.rank(0); ++i) over.push_back(i);
  return over;
}

// Batch normalization by the mean and variance of x over all its axes except c; both are also
// outputs.
absl::Status DefineBatchNormTraining(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannelVectors(c, {"scale", "bias"}));
  const std::vector<int> over = AllButChannels(c);
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

// With z = (x - mean) * inverse, inverse = 1 / sqrt(variance + epsilon) and M elements per channel,
// dscale = sum(dy * z), dbias = sum(dy), dx = scale * inverse * (dy - dbias/M - z * dscale/M).
absl::Status DefineGradient(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannelVectors(c, {"scale", "mean", "variance"}));
  LEMMA_REQUIRE(c, c.dtype(4) == c.dtype(0) && c.rank(4) == c.rank(0),
                "dy must have the type of x");
  for (int i = 0; i < c.rank(0); ++i) {
    LEMMA_REQUIRE(c, Eq(c.Dim(4, i), c.Dim(0, i)), "dy must have the shape of x");
  }
  const std::vector<int> over = AllButChannels(c);
  LEMMA_RETURN_IF_ERROR(RequireNotEmpty(c, over));
  Idx extents;
  for (int axis : over) extents.push_back(c.Dim(0, axis));
  const ScalarExpr count = ScalarExpr::Index(Product(extents));
  const TensorId inverse = c.Local(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) {
    return 1 / Apply(ScalarFn::kSqrt, c.Read(3, k) + c.Real("epsilon"));
  });
  auto z = [&](const Idx& i) {
    return (c.Read(0, i) - c.Read(2, {i[1]})) * c.Read(inverse, {i[1]});
  };
  auto sum = [&](const std::function<ScalarExpr(const Idx&)>& term) {
    return c.Local(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) {
      return c.Sum(extents, [&](const Idx& r) {
        Idx i = {r[0], k[0]};
        i.insert(i.end(), r.begin() + 1, r.end());
        return term(i);
      });
    });
  };
  const TensorId dscale = sum([&](const Idx& i) { return c.Read(4, i) * z(i); });
  const TensorId dbias = sum([&](const Idx& i) { return c.Read(4, i); });
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    const Idx k = {i[1]};
    return c.Read(1, k) * c.Read(inverse, k) *
           (c.Read(4, i) - c.Read(dbias, k) / count - z(i) * (c.Read(dscale, k) / count));
  });
  c.Output(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) { return c.Read(dscale, k); });
  c.Output(c.dtype(0), {c.Dim(0, 1)}, [&](const Idx& k) { return c.Read(dbias, k); });
  return absl::OkStatus();
}

// dx, dscale and dbias as in batch_norm_training_gradient, with M elements per channel; dx also
// receives dmean/M + 2/M * (x - mean) * dvariance.
std::vector<Value> BatchNormTrainingGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &scale = f.Input(1), &dy = f.ResultGradient();
  const double count = static_cast<double>(x.type().num_elements()) / x.shape()[1];
  auto channels = [&](const Value& v) { return PerChannel(f, v, x.type().rank()); };
  std::vector<Value> gradients(3);
  if (dy) {
    gradients = f.Ops("batch_norm_training_gradient", {x, scale, f.Output(1), f.Output(2), dy},
                      f.node().attrs());
    if (gradients.empty()) return gradients;
  }
  Value& dx = gradients[0];
  if (const Value& dmean = f.ResultGradient(1)) {
    dx = f.Add(dx, f.Expand(channels(f.Div(dmean, count)), x.shape()));
  }
  if (const Value& dvariance = f.ResultGradient(2)) {
    const Value centered = f.Sub(x, channels(f.Output(1)));
    dx = f.Add(dx, f.Mul(centered, channels(f.Div(f.Mul(dvariance, 2), count))));
  }
  return gradients;
}

std::vector<int64_t> ReducedAxes(const Node& node) { return AxesBut(node.type(0).rank(), {1}); }

// Exports reductions for the statistics, then the inference form. ONNX has a training form, but
// ONNX Runtime lets its statistics overwrite each other unless they are the model's own outputs.
absl::Status ExportTraining(OnnxExport& out) {
  const Node& node = out.node();
  const std::vector<int64_t> axes = ReducedAxes(node);
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

// Exports the equation, since ONNX has no such operator. The rule
// recognize_batch_norm_training_gradient recognizes it again.
absl::Status ExportTrainingGradient(OnnxExport& out) {
  const Node& node = out.node();
  const TensorType& x = node.inputs()[0].type();
  auto scalar = [&](double value) -> absl::StatusOr<std::string> {
    LEMMA_ASSIGN_OR_RETURN(Tensor t, Tensor::Filled({x.dtype, {}}, value));
    return out.Constant(std::move(t));
  };
  auto ints = [&](const std::vector<int64_t>& values) -> absl::StatusOr<std::string> {
    const int64_t size = static_cast<int64_t>(values.size());
    LEMMA_ASSIGN_OR_RETURN(Tensor t, Tensor::FromInts({DType::kI64, {size}}, values));
    return out.Constant(std::move(t));
  };
  std::vector<int64_t> vector_shape(x.rank() - 1, 1);
  vector_shape[0] = x.shape[1];
  LEMMA_ASSIGN_OR_RETURN(const std::string channels, ints(vector_shape));
  LEMMA_ASSIGN_OR_RETURN(const std::string axes, ints(ReducedAxes(node)));
  LEMMA_ASSIGN_OR_RETURN(const std::string epsilon, scalar(node.Float("epsilon")));
  auto op = [&](const char* type, std::vector<std::string> inputs) {
    const std::string y = out.Temporary();
    out.Emit(type, std::move(inputs), {y});
    return y;
  };
  auto spread = [&](const std::string& v) { return op("Reshape", {v, channels}); };
  auto mean = [&](const std::string& v) {
    const std::string y = out.Temporary();
    out.Emit("ReduceMean", {v}, {y}, {{"axes", ReducedAxes(node)}, {"keepdims", int64_t{1}}});
    return y;
  };
  const std::string dy = out.Input(4), dscale = out.Output(1), dbias = out.Output(2);
  const std::string inverse = op("Reciprocal", {op("Sqrt", {op("Add", {out.Input(3), epsilon})})});
  const std::string centered = op("Sub", {out.Input(0), spread(out.Input(2))});
  const std::string z = op("Mul", {centered, spread(inverse)});
  const std::string product = op("Mul", {dy, z});
  out.Emit("ReduceSum", {product, axes}, {dscale}, {{"keepdims", int64_t{0}}});
  out.Emit("ReduceSum", {dy, axes}, {dbias}, {{"keepdims", int64_t{0}}});
  const std::string rest = op("Sub", {op("Sub", {dy, mean(dy)}), op("Mul", {z, mean(product)})});
  out.Emit("Mul", {rest, spread(op("Mul", {out.Input(1), inverse}))}, {out.Output(0)});
  return absl::OkStatus();
}

}  // namespace

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
  op.attrs = {BatchNormEpsilon()};
  op.define = DefineBatchNormTraining;
  op.gradient = BatchNormTrainingGradient;
  op.examples = {"(f32[2,3,4,5], f32[3], f32[3])", "(f32[4,2], f32[2], f32[2]) {epsilon = 0.1}",
                 "(f32[1,2,5], f32[2], f32[2])"};
  op.onnx_export = ExportTraining;
  return op;
}

OpDef Make_batch_norm_training_gradient() {
  OpDef op;
  op.name = "batch_norm_training_gradient";
  op.group = "normalization";
  op.equation =
      "dx[n,c,i…] = scale[c] * inverse[c] * (dy[n,c,i…] - dbias[c]/(N*I…) - z[n,c,i…] * "
      "dscale[c]/(N*I…)), dscale[c] = sum(n < N, i… < I…) dy[n,c,i…] * z[n,c,i…], "
      "dbias[c] = sum(n < N, i… < I…) dy[n,c,i…], z[n,c,i…] = (x[n,c,i…] - mean[c]) * inverse[c], "
      "inverse[c] = 1 / sqrt(variance[c] + epsilon)";
  op.doc =
      "The gradient of batch_norm_training: mean and variance are its outputs, dy is the gradient "
      "of its output y. Outputs dx, dscale, dbias.";
  op.input_names = {"x", "scale", "mean", "variance", "dy"};
  op.min_inputs = op.max_inputs = 5;
  op.attrs = {BatchNormEpsilon()};
  op.define = DefineGradient;
  op.examples = {"(f32[2,3,4,5], f32[3], f32[3], f32[3], f32[2,3,4,5])",
                 "(f32[4,2], f32[2], f32[2], f32[2], f32[4,2]) {epsilon = 0.1}",
                 "(f32[1,2,5], f32[2], f32[2], f32[2], f32[1,2,5])"};
  op.onnx_export = ExportTrainingGradient;
  return op;
}

}  // namespace lemma::ops
