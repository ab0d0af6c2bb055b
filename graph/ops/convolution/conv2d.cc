#include <algorithm>

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/activation.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/depth.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/convolution/conv_gradient.h"
#include "graph/ops/convolution/window.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// y[n,k,p,q] = sum(c < C, r < R, s < S) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]
//                                       * w[k,c,r,s]  (+ bias[k]),
// g = k div (K div groups); a read outside x is 0.
absl::Status DefineConv2d(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_REQUIRE(c, c.rank(0) == 4, "x must be [N,C,H,W], not of rank ", c.rank(0));
  LEMMA_REQUIRE(c, c.rank(1) == 4, "w must be [K,C/groups,R,S], not of rank ", c.rank(1));
  const IndexExpr& groups = c.Size("groups");
  const IndexExpr &batch = c.Dim(0, 0), &channels = c.Dim(0, 1);
  const IndexExpr &outputs = c.Dim(1, 0), &per_group = c.Dim(1, 1);
  LEMMA_REQUIRE(c, Ge(groups, 1), "groups must be positive, not ", groups.ToString());
  LEMMA_ASSIGN_OR_RETURN(Windows windows, ReadWindows(c, c.Dim(1, 2), c.Dim(1, 3)));
  LEMMA_RETURN_IF_ERROR(RequireFit(c, windows));
  LEMMA_REQUIRE(c, Eq(per_group * groups, channels), "x has ", channels.ToString(),
                " channels, w takes ", per_group.ToString(), " in each of ", groups.ToString(),
                " groups");
  LEMMA_REQUIRE(c, Eq(Mod(outputs, groups), 0), outputs.ToString(),
                " output channels do not divide into ", groups.ToString(), " groups");
  if (c.num_inputs() == 3) LEMMA_RETURN_IF_ERROR(RequireVector(c, 2, "bias", outputs));

  Idx dims = {batch, outputs, windows[0].OutputSize(), windows[1].OutputSize()};
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    IndexExpr group = FloorDiv(out[1], FloorDiv(outputs, groups));
    ScalarExpr sum = c.Sum({per_group, c.Dim(1, 2), c.Dim(1, 3)}, [&](const Idx& r) {
      Idx at = {out[0], group * per_group + r[0], windows[0].Position(out[2], r[1]),
                windows[1].Position(out[3], r[2])};
      bool pads = !windows[0].NeverPads() || !windows[1].NeverPads();
      ScalarExpr x = pads ? c.ReadOr(0, at, 0) : c.Read(0, at);
      return x * c.Read(1, {out[1], r[0], r[1], r[2]});
    });
    return c.num_inputs() == 3 ? sum + c.Read(2, {out[1]}) : sum;
  });
  return absl::OkStatus();
}

// dx spreads dy over the windows with w, dw has the products of dy and the windows of x, and dbias
// the sums of dy over all axes except k (graph/ops/convolution/conv_gradient.h).
std::vector<Value> Conv2dGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &w = f.Input(1), &dy = f.ResultGradient();
  const int64_t groups = f.node().Int("groups");
  std::vector<Value> gradients = {
      SpreadWindows(f, f.node(), dy, w, groups, {x.shape()[2], x.shape()[3]}),
      WindowProducts(f, f.node(), x, dy, groups, w.shape())};
  if (f.num_inputs() == 3) gradients.push_back(ChannelSums(f, dy));
  return gradients;
}

// Applies conv2d to values of shapes [N,C,H,W] and [K,C/groups,R,S]; a 1-d convolution has height
// 1.
absl::StatusOr<Value> ApplyConv(OnnxImport& node, std::vector<Value> in, OnnxWindow window,
                                int64_t groups) {
  const bool one_d = window.rank() == 1;
  if (one_d) {
    for (int i = 0; i < 2; ++i) {
      Shape shape = in[i].shape();
      shape.insert(shape.begin() + 2, 1);
      LEMMA_ASSIGN_OR_RETURN(in[i], Reshape(node, in[i], shape));
    }
    window = window.WithUnitAxis();
  }
  Attrs attrs = window.ToAttrs();
  attrs["groups"] = groups;
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("conv2d", in, attrs));
  if (!one_d) return y;
  return Reshape(node, y, {y.shape()[0], y.shape()[1], y.shape()[3]});
}

absl::StatusOr<Value> ApplyConv3d(OnnxImport& node, std::vector<Value> in, const OnnxWindow& window,
                                  int64_t groups) {
  const int64_t batch = in[0].shape()[0];
  const Shape w = in[1].shape();
  LEMMA_ASSIGN_OR_RETURN(in[0], DepthToChannels(node, in[0], window.Axes(0, 1)));
  LEMMA_ASSIGN_OR_RETURN(in[1], Reshape(node, in[1], {w[0], w[1] * w[2], w[3], w[4]}));
  LEMMA_ASSIGN_OR_RETURN(Value y, ApplyConv(node, in, window.Axes(1, 3), groups));
  return PositionsToDepth(node, y, batch);
}

absl::StatusOr<Value> ImportConvOf(OnnxImport& node, std::vector<Value> in) {
  LEMMA_ASSIGN_OR_RETURN(auto kernel, KernelOfWeight(node, in[1].shape(), 3));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow window, ReadOnnxWindow(node, in[0].shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t groups, node.Int("group", 1));
  if (window.rank() == 3 && IsSymbolic(in[0].shape())) {
    return node.Unsupported("symbolic sizes in 3 spatial dimensions");
  }
  if (window.rank() == 3) return ApplyConv3d(node, std::move(in), window, groups);
  return ApplyConv(node, std::move(in), window, groups);
}

absl::StatusOr<std::vector<Value>> ImportConv(OnnxImport& node) {
  std::vector<Value> in;
  for (int i = 0; i < 3 && node.HasInput(i); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value v, node.Input(i));
    in.push_back(v);
  }
  if (in.size() < 2) return absl::InvalidArgumentError("input and weight are required");
  LEMMA_ASSIGN_OR_RETURN(Value y, ImportConvOf(node, in));
  return std::vector<Value>{y};
}

// y = f(conv(x, w) + bias + z), of com.microsoft.
absl::StatusOr<std::vector<Value>> ImportFusedConv(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> y, ImportConv(node));
  if (node.HasInput(3)) {
    LEMMA_ASSIGN_OR_RETURN(Value z, node.Input(3));
    if (z.shape() != y[0].shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Z ", ToString(z.shape()), " must be ", ToString(y[0].shape())));
    }
    LEMMA_ASSIGN_OR_RETURN(y[0], node.Op("add", {y[0], z}));
  }
  LEMMA_ASSIGN_OR_RETURN(y[0], ApplyNamedActivation(node, y[0]));
  return y;
}

// The integers as f32 minus their zero point, which is one number, or one per output channel of a
// weight.
absl::StatusOr<Value> Centered(OnnxImport& node, int i) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(i));
  LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, DType::kF32));
  if (!node.HasInput(i + 2)) return x;
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Input(i + 2));
  LEMMA_ASSIGN_OR_RETURN(zero, Cast(node, zero, DType::kF32));
  Shape shape(zero.type().num_elements() == 1 ? 0 : x.type().rank(), 1);
  if (!shape.empty()) shape[0] = zero.type().num_elements();
  LEMMA_ASSIGN_OR_RETURN(zero, Reshape(node, zero, shape));
  return node.Op("sub", {x, zero});
}

// Computes in f32, which ONNX can express and which is exact for sums up to 2^24.
absl::StatusOr<std::vector<Value>> ImportConvInteger(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, Centered(node, 0));
  LEMMA_ASSIGN_OR_RETURN(Value w, Centered(node, 1));
  const int64_t outputs = w.type().rank() == 0 ? 1 : std::max<int64_t>(1, w.shape()[0]);
  const int64_t terms = w.type().num_elements() / outputs;
  if (terms > (1 << 24) / (255 * 255)) return node.Unsupported("sums of more than 258 products");
  LEMMA_ASSIGN_OR_RETURN(Value y, ImportConvOf(node, {x, w}));
  LEMMA_ASSIGN_OR_RETURN(y, Cast(node, y, DType::kI32));
  return std::vector<Value>{y};
}

// Input i, integers, as f32 minus input `zero`; that is one number, or one per output channel.
absl::StatusOr<Value> CenteredBy(OnnxImport& node, int i, int zero) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(i));
  LEMMA_ASSIGN_OR_RETURN(Value z, node.Input(zero));
  LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, DType::kF32));
  LEMMA_ASSIGN_OR_RETURN(z, Cast(node, z, DType::kF32));
  Shape shape(z.type().num_elements() == 1 ? 0 : x.type().rank(), 1);
  if (!shape.empty()) shape[0] = z.type().num_elements();
  LEMMA_ASSIGN_OR_RETURN(z, Reshape(node, z, shape));
  return node.Op("sub", {x, z});
}

// y = quantize((conv(x - x0, w - w0) + bias) * (x_scale w_scale / y_scale)), with a w_scale for
// each output channel. The sums are f32, as those of QLinearMatMul.
absl::StatusOr<std::vector<Value>> ImportQuantizedConv(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(const Value x, CenteredBy(node, 0, 2));
  LEMMA_ASSIGN_OR_RETURN(const Value w, CenteredBy(node, 3, 5));
  std::vector<Value> in = {x, w};
  if (node.HasInput(8)) {
    LEMMA_ASSIGN_OR_RETURN(Value bias, node.Input(8));
    LEMMA_ASSIGN_OR_RETURN(bias, Cast(node, bias, DType::kF32));
    in.push_back(bias);
  }
  LEMMA_ASSIGN_OR_RETURN(Value y, ImportConvOf(node, in));
  auto scale_of = [&](int i) -> absl::StatusOr<Value> {
    LEMMA_ASSIGN_OR_RETURN(const Value scale, node.Input(i));
    Shape shape;
    if (scale.type().num_elements() != 1) {
      shape.assign(static_cast<size_t>(y.type().rank()) - 1, 1);
      shape[0] = scale.type().num_elements();
    }
    return Reshape(node, scale, shape);
  };
  LEMMA_ASSIGN_OR_RETURN(Value scale, scale_of(1));
  LEMMA_ASSIGN_OR_RETURN(const Value w_scale, scale_of(4));
  LEMMA_ASSIGN_OR_RETURN(const Value y_scale, scale_of(6));
  LEMMA_ASSIGN_OR_RETURN(scale, node.Op("mul", {scale, w_scale}));
  LEMMA_ASSIGN_OR_RETURN(scale, node.Op("div", {scale, y_scale}));
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Input(7));
  const DType to = zero.dtype();
  if ((to != DType::kI8 && to != DType::kU8) || zero.type().num_elements() != 1) {
    return node.Unsupported("an output other than of i8 or u8 with one zero point");
  }
  LEMMA_ASSIGN_OR_RETURN(zero, Reshape(node, zero, {}));
  LEMMA_ASSIGN_OR_RETURN(zero, Cast(node, zero, DType::kF32));
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("mul", {y, scale}));
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("round", {y}));
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("add", {y, zero}));
  const double low = to == DType::kI8 ? -128 : 0;
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("clip", {y}, {{"min", low}, {"max", low + 255}}));
  LEMMA_ASSIGN_OR_RETURN(y, Cast(node, y, to));
  return std::vector<Value>{y};
}

}  // namespace

OpDef Make_conv2d() {
  OpDef op;
  op.name = "conv2d";
  op.group = "convolution";
  op.equation =
      "y[n,k,p,q] = sum(c < C, r < R, s < S) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]"
      " * w[k,c,r,s] + bias[k], g = k div (K div groups)";
  op.doc = "A read outside x is 0. The bias may be left out.";
  op.input_names = {"x", "w", "bias"};
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = WindowAttrs();
  op.attrs.push_back(
      {"groups", AttrKind::kInt, int64_t{1}, true, "C and K are cut into as many parts"});
  op.define = DefineConv2d;
  op.gradient = Conv2dGradient;
  op.examples = {
      "(f32[1,3,5,5], f32[4,3,3,3])",
      "(f32[2,3,7,5], f32[4,3,3,3], f32[4]) {pads = [1,1,1,1]}",
      "(f32[1,4,7,6], f32[6,2,3,2], f32[6]) {strides = [2,1], pads = [1,0,2,1], groups = 2}",
      "(f32[1,2,9,9], f32[2,1,3,3]) {dilations = [2,3], pads = [2,3,2,3], groups = 2}",
      "(f32[1,4,5,5], f32[3,4,1,1])",
      "(f32[2,2,8,7], f32[2,2,3,2]) {strides = [3,4], pads = [0,1,2,0]}",
  };
  op.onnx_import = {{"Conv", ImportConv},
                    {"com.microsoft.FusedConv", ImportFusedConv},
                    {"ConvInteger", ImportConvInteger},
                    {"QLinearConv", ImportQuantizedConv}};
  op.onnx_export = ExportFor(OnnxFloats(), ExportAs("Conv", {{"strides", "strides"},
                                                             {"pads", "pads"},
                                                             {"dilations", "dilations"},
                                                             {"groups", "group"}}));
  return op;
}

}  // namespace lemma::ops
