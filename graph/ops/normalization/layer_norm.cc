// Normalizations of each example: layer, instance and group.
#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"
#include "graph/ops/normalization/moments.h"
#include "graph/ops/normalization/norm_gradient.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// 1 / sqrt(variance + epsilon).
TensorId LocalInverseDeviation(OpContext& c, TensorId variance) {
  return c.Local(c.dtype(0), c.definition().TypeOf(variance).dims, [&](const Idx& i) {
    return 1 / Apply(ScalarFn::kSqrt, c.Read(variance, i) + c.Real("epsilon"));
  });
}

// y[o…,i…] = (x[o…,i…] - mean[o…]) / sqrt(variance[o…] + epsilon) * scale[i…] + bias[i…].
absl::Status DefineLayerNorm(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  const int rank = c.rank(0);
  LEMMA_ASSIGN_OR_RETURN(int axis, c.NormalizeAxis(c.Int("axis"), rank));
  std::vector<int> over;
  for (int i = axis; i < rank; ++i) over.push_back(i);
  LEMMA_RETURN_IF_ERROR(RequireNotEmpty(c, over));
  for (int input = 1; input < c.num_inputs(); ++input) {
    const char* what = input == 1 ? "scale" : "bias";
    LEMMA_REQUIRE(c, c.rank(input) == rank - axis, what, " must have the ", rank - axis,
                  " dimensions of x from axis ", axis, ", not ", c.rank(input));
    for (int i = axis; i < rank; ++i) {
      LEMMA_REQUIRE(c, Eq(c.Dim(input, i - axis), c.Dim(0, i)), what, " has size ",
                    c.Dim(input, i - axis).ToString(), " where x has ", c.Dim(0, i).ToString());
    }
  }
  Moments m = LocalMoments(c, over);
  TensorId inverse = LocalInverseDeviation(c, m.variance);
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx outer(i.begin(), i.begin() + axis), inner(i.begin() + axis, i.end());
    ScalarExpr y = (c.Read(0, i) - c.Read(m.mean, outer)) * c.Read(inverse, outer);
    y = y * c.Read(1, inner);
    return c.num_inputs() == 3 ? y + c.Read(2, inner) : y;
  });
  return absl::OkStatus();
}

// x is [N,C,spatial…], of rank at least `rank`; scale and bias are vectors of C elements.
absl::Status RequireChannels(OpContext& c, int rank) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_REQUIRE(c, c.rank(0) >= rank, "x must be [N,C,spatial...] of rank ", rank,
                " or more, not of rank ", c.rank(0));
  LEMMA_RETURN_IF_ERROR(RequireVector(c, 1, "scale", c.Dim(0, 1)));
  return RequireVector(c, 2, "bias", c.Dim(0, 1));
}

// y[n,c,i…] = (x[n,c,i…] - mean[n,c]) / sqrt(variance[n,c] + epsilon) * scale[c] + bias[c].
absl::Status DefineInstanceNorm(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannels(c, 3));
  std::vector<int> over;
  for (int i = 2; i < c.rank(0); ++i) over.push_back(i);
  LEMMA_RETURN_IF_ERROR(RequireNotEmpty(c, over));
  Moments m = LocalMoments(c, over);
  TensorId inverse = LocalInverseDeviation(c, m.variance);
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx instance = {i[0], i[1]}, channel = {i[1]};
    return (c.Read(0, i) - c.Read(m.mean, instance)) * c.Read(inverse, instance) *
               c.Read(1, channel) +
           c.Read(2, channel);
  });
  return absl::OkStatus();
}

// The same with mean and variance over the channels of a group as well.
absl::Status DefineGroupNorm(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireChannels(c, 2));
  const IndexExpr &groups = c.Size("groups"), &channels = c.Dim(0, 1);
  LEMMA_REQUIRE(c, Ge(groups, 1), "groups must be positive, not ", groups.ToString());
  LEMMA_REQUIRE(c, Ge(channels, 1), "x has no channels");
  LEMMA_REQUIRE(c, Eq(Mod(channels, groups), 0), channels.ToString(),
                " channels do not divide into ", groups.ToString(), " groups");
  for (int i = 2; i < c.rank(0); ++i) LEMMA_RETURN_IF_ERROR(RequireNotEmpty(c, {i}));
  IndexExpr per_group = FloorDiv(channels, groups);
  Idx extents = {per_group};
  extents.insert(extents.end(), c.dims(0).begin() + 2, c.dims(0).end());
  auto at = [&](const Idx& group, const Idx& r) {
    Idx index = {group[0], group[1] * per_group + r[0]};
    index.insert(index.end(), r.begin() + 1, r.end());
    return index;
  };
  ScalarExpr count = ScalarExpr::Index(Product(extents));
  TensorId mean = c.Local(c.dtype(0), {c.Dim(0, 0), groups}, [&](const Idx& group) {
    return c.Sum(extents, [&](const Idx& r) { return c.Read(0, at(group, r)); }) / count;
  });
  TensorId variance = c.Local(c.dtype(0), {c.Dim(0, 0), groups}, [&](const Idx& group) {
    return c.Sum(extents, [&](const Idx& r) {
      ScalarExpr difference = c.Read(0, at(group, r)) - c.Read(mean, group);
      return difference * difference;
    }) / count;
  });
  TensorId inverse = LocalInverseDeviation(c, variance);
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& i) {
    Idx group = {i[0], FloorDiv(i[1], per_group)}, channel = {i[1]};
    return (c.Read(0, i) - c.Read(mean, group)) * c.Read(inverse, group) * c.Read(1, channel) +
           c.Read(2, channel);
  });
  return absl::OkStatus();
}

// With z = (x - mean) / sqrt(variance + epsilon): dscale = sum(o…) dy * z, dbias = sum(o…) dy, and
// dx is NormalizeGradient() of dz = dy * scale.
std::vector<Value> LayerNormGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &scale = f.Input(1), &dy = f.ResultGradient();
  std::vector<int64_t> axes;
  for (int64_t i = x.type().rank() - scale.type().rank(); i < x.type().rank(); ++i) {
    axes.push_back(i);
  }
  const Normalized n = Normalize(f, x, axes, f.node().Float("epsilon"));
  std::vector<Value> gradients = {NormalizeGradient(f, n, f.Mul(dy, scale)),
                                  f.SumTo(f.Mul(dy, n.z), scale.shape())};
  if (f.num_inputs() == 3) gradients.push_back(f.SumTo(dy, scale.shape()));
  return gradients;
}

// The same for x as [N,groups,…], whose last axis is normalized; dscale and dbias are sums over all
// axes except c.
std::vector<Value> GroupedGradient(GradientBuilder& f, int64_t groups) {
  const Value &x = f.Input(0), &dy = f.ResultGradient();
  if (x.type().num_elements() == 0) return std::vector<Value>(3);
  const int rank = x.type().rank();
  const int64_t batch = x.shape()[0];
  const Shape grouped = {batch, groups, x.type().num_elements() / (batch * groups)};
  const Normalized n = Normalize(f, f.Reshape(x, grouped), {2}, f.node().Float("epsilon"));
  const Value dz = f.Reshape(f.Mul(dy, PerChannel(f, f.Input(1), rank)), grouped);
  const std::vector<int64_t> others = AxesBut(rank, {1});
  return {f.Reshape(NormalizeGradient(f, n, dz), x.shape()),
          f.Sum(f.Mul(dy, f.Reshape(n.z, x.shape())), others), f.Sum(dy, others)};
}

AttrSpec Epsilon() { return {"epsilon", AttrKind::kFloat, 1e-5, true, "added to the variance"}; }

// ONNX's optional second and third output: mean and 1 / sqrt(variance + epsilon).
absl::StatusOr<std::vector<Value>> Statistics(OnnxImport& node, const Value& x, int64_t axis,
                                              double epsilon) {
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < x.type().rank(); ++i) axes.push_back(i);
  Attrs over = {{"axes", axes}, {"keepdims", int64_t{1}}};
  LEMMA_ASSIGN_OR_RETURN(Value mean, node.Op("reduce_mean", {x}, over));
  LEMMA_ASSIGN_OR_RETURN(Value difference, node.Op("sub", {x, mean}));
  LEMMA_ASSIGN_OR_RETURN(Value square, node.Op("mul", {difference, difference}));
  LEMMA_ASSIGN_OR_RETURN(Value variance, node.Op("reduce_mean", {square}, over));
  LEMMA_ASSIGN_OR_RETURN(Value offset, node.Scalar(x.dtype(), epsilon));
  LEMMA_ASSIGN_OR_RETURN(Value shifted, node.Op("add", {variance, offset}));
  LEMMA_ASSIGN_OR_RETURN(Value root, node.Op("sqrt", {shifted}));
  LEMMA_ASSIGN_OR_RETURN(Value one, node.Scalar(x.dtype(), 1));
  LEMMA_ASSIGN_OR_RETURN(Value inverse, node.Op("div", {one, root}));
  return std::vector<Value>{mean, inverse};
}

// Computes in the type stash_type if the elements are narrower.
absl::StatusOr<std::vector<Value>> ImportLayerNorm(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -1));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", 1e-5));
  LEMMA_ASSIGN_OR_RETURN(int64_t stash_number, node.Int("stash_type", 1));
  LEMMA_ASSIGN_OR_RETURN(DType stash, FromOnnxNumber(node, stash_number));
  const DType dtype = x.dtype();
  const DType wide = SizeOf(stash) > SizeOf(dtype) ? stash : dtype;
  std::vector<Value> inputs;
  const Shape normalized(x.shape().begin() + axis, x.shape().end());
  for (int i = 0; i < 3 && node.HasInput(i); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value v, node.Input(i));
    if (i > 0 && v.shape() != normalized) {
      LEMMA_ASSIGN_OR_RETURN(v, node.Op("expand", {v}, {{"shape", normalized}}));
    }
    LEMMA_ASSIGN_OR_RETURN(v, Cast(node, v, wide));
    inputs.push_back(v);
  }
  Attrs attrs = {{"axis", axis}, {"epsilon", epsilon}};
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> outputs, node.Ops("layer_norm", inputs, attrs));
  LEMMA_ASSIGN_OR_RETURN(outputs[0], Cast(node, outputs[0], dtype));
  if (node.num_outputs() == 1) return outputs;
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> more, Statistics(node, inputs[0], axis, epsilon));
  for (Value& statistic : more) {
    LEMMA_ASSIGN_OR_RETURN(statistic, Cast(node, statistic, stash));
    outputs.push_back(statistic);
  }
  return outputs;
}

// Operator set 17 has no group normalization: each group becomes an instance and is scaled
// afterwards.
absl::Status ExportGroupNorm(OnnxExport& out) {
  const Node& node = out.node();
  const TensorType& type = node.type(0);
  const int64_t groups = node.Int("groups");
  auto vector = [&](double value) -> absl::StatusOr<std::string> {
    LEMMA_ASSIGN_OR_RETURN(Tensor t, Tensor::Filled({type.dtype, {groups}}, value));
    return out.Constant(t);
  };
  LEMMA_ASSIGN_OR_RETURN(std::string ones, vector(1));
  LEMMA_ASSIGN_OR_RETURN(std::string zeros, vector(0));
  auto reshape = [&](const std::string& from, const Shape& shape) {
    std::string to = out.Temporary();
    out.Emit("Reshape", {from, out.Constant(Tensor::Ints(shape))}, {to});
    return to;
  };
  const auto channels = QuotientOf(type.shape[1], groups);
  if (!channels) return absl::UnimplementedError("a group of channels of unknown size");
  Shape group(type.shape.begin() + 1, type.shape.end());
  group[0] = *channels;
  const int64_t instance = ProductOf(group);
  Shape per_channel(type.rank(), 1);
  per_channel[1] = type.shape[1];
  std::string grouped = reshape(out.Input(0), {type.shape[0], groups, instance});
  std::string normal = out.Temporary(), scaled = out.Temporary();
  out.Emit("InstanceNormalization", {grouped, ones, zeros}, {normal},
           {{"epsilon", node.Float("epsilon")}});
  std::string back = reshape(normal, type.shape);
  out.Emit("Mul", {back, reshape(out.Input(1), per_channel)}, {scaled});
  out.Emit("Add", {scaled, reshape(out.Input(2), per_channel)}, {out.Output(0)});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_layer_norm() {
  OpDef op;
  op.name = "layer_norm";
  op.group = "normalization";
  op.equation =
      "y[o…,i…] = (x[o…,i…] - mean[o…]) / sqrt(variance[o…] + epsilon) * scale[i…] + bias[i…]";
  op.doc =
      "mean and variance are x's over i…, the axes from `axis` on; the variance is that of the "
      "population. The bias may be left out.";
  op.input_names = {"x", "scale", "bias"};
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = {{"axis", AttrKind::kInt, int64_t{-1}, false,
               "first axis of i…; a negative one counts from the end"},
              Epsilon()};
  op.define = DefineLayerNorm;
  op.gradient = LayerNormGradient;
  op.examples = {"(f32[3,5], f32[5], f32[5])", "(f32[2,3,4], f32[3,4], f32[3,4]) {axis = 1}",
                 "(f32[2,3], f32[2,3]) {axis = 0, epsilon = 0.01}"};
  op.onnx_import = {{"LayerNormalization", ImportLayerNorm}};
  op.onnx_export = ExportAs("LayerNormalization", {{"axis", "axis"}, {"epsilon", "epsilon"}});
  return op;
}

OpDef Make_instance_norm() {
  OpDef op;
  op.name = "instance_norm";
  op.group = "normalization";
  op.equation =
      "y[n,c,i…] = (x[n,c,i…] - mean[n,c]) / sqrt(variance[n,c] + epsilon) * scale[c] + bias[c]";
  op.doc = "mean and variance are x's over i…; the variance is that of the population.";
  op.input_names = {"x", "scale", "bias"};
  op.min_inputs = op.max_inputs = 3;
  op.attrs = {Epsilon()};
  op.define = DefineInstanceNorm;
  op.gradient = [](GradientBuilder& f) { return GroupedGradient(f, f.Input(0).shape()[1]); };
  op.examples = {"(f32[2,3,4,5], f32[3], f32[3])", "(f32[1,2,7], f32[2], f32[2]) {epsilon = 0.01}"};
  op.onnx_import = {ImportAs("InstanceNormalization", "instance_norm", {{"epsilon", "epsilon"}})};
  op.onnx_export =
      ExportFor(OnnxFloats(), ExportAs("InstanceNormalization", {{"epsilon", "epsilon"}}));
  return op;
}

OpDef Make_group_norm() {
  OpDef op;
  op.name = "group_norm";
  op.group = "normalization";
  op.equation =
      "y[n,c,i…] = (x[n,c,i…] - mean[n,g]) / sqrt(variance[n,g] + epsilon) * scale[c] + bias[c], "
      "g = c div (C div groups)";
  op.doc =
      "mean and variance are x's over i… and the channels of group g; the variance is that of the "
      "population.";
  op.input_names = {"x", "scale", "bias"};
  op.min_inputs = op.max_inputs = 3;
  op.attrs = {{"groups", AttrKind::kInt, std::nullopt, true,
               "number of groups into which the channels are divided"},
              Epsilon()};
  op.define = DefineGroupNorm;
  op.gradient = [](GradientBuilder& f) { return GroupedGradient(f, f.node().Int("groups")); };
  op.examples = {"(f32[2,4,3,5], f32[4], f32[4]) {groups = 2}",
                 "(f32[1,6,4], f32[6], f32[6]) {groups = 1, epsilon = 0.01}",
                 "(f32[2,3,2,2], f32[3], f32[3]) {groups = 3}"};
  op.onnx_export = ExportFor(OnnxFloats(), ExportGroupNorm);
  return op;
}

}  // namespace lemma::ops
