#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/activation.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/depth.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/quantized.h"
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

// Input i; that is one number, or one for each output channel, so that it broadcasts over a tensor
// of `rank` dimensions of which `behind` come behind the channels.
absl::StatusOr<Value> PerChannel(OnnxImport& node, int i, int behind) {
  LEMMA_ASSIGN_OR_RETURN(const Value v, node.Input(i));
  Shape shape;
  if (v.type().num_elements() != 1) {
    shape.assign(static_cast<size_t>(behind) + 1, 1);
    shape[0] = v.type().num_elements();
  }
  return Reshape(node, v, shape);
}

// conv(x - x0, w - w0) in f32 or i32, exactly if 32 bits hold it. Inputs x and w; their zero points
// if present.
absl::StatusOr<Value> ConvOfIntegers(OnnxImport& node, int x, int x_zero, int w, int w_zero) {
  OnnxBuild b(node);
  const Value in[] = {b.Input(x), b.Input(w)};
  if (!b.status().ok()) return b.status();
  const int behind = in[1].type().rank() - 1;
  Value zeros[2];
  if (node.HasInput(x_zero)) zeros[0] = b.Take(PerChannel(node, x_zero, behind));
  if (node.HasInput(w_zero)) zeros[1] = b.Take(PerChannel(node, w_zero, behind));
  if (!b.status().ok()) return b.status();
  for (const Value& v : in) {
    if (v.dtype() != DType::kU8 && v.dtype() != DType::kI8) {
      return node.Unsupported(absl::StrCat("a convolution of ", Name(v.dtype())));
    }
  }
  if (IsSymbolic(in[1].shape())) return node.Unsupported("a weight of symbolic sizes");
  const int64_t outputs = behind < 0 ? 1 : std::max<int64_t>(1, in[1].shape()[0]);
  const int64_t terms = in[1].type().num_elements() / outputs;
  const DType sum = ProductType(in[0], zeros[0], in[1], zeros[1], terms);
  std::vector<Value> centered = {Centered(b, in[0], zeros[0], sum),
                                 Centered(b, in[1], zeros[1], sum)};
  if (!b.status().ok()) return b.status();
  return ImportConvOf(node, std::move(centered));
}

absl::StatusOr<std::vector<Value>> ImportConvInteger(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value y, ConvOfIntegers(node, 0, 2, 1, 3));
  LEMMA_ASSIGN_OR_RETURN(y, Cast(node, y, DType::kI32));
  return std::vector<Value>{y};
}

// y = quantize((conv(x - x0, w - w0) + bias) * (x_scale w_scale / y_scale)), with a w_scale for
// each output channel.
absl::StatusOr<std::vector<Value>> ImportQuantizedConv(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value y, ConvOfIntegers(node, 0, 2, 3, 5));
  OnnxBuild b(node);
  const int behind = y.type().rank() - 2;
  if (node.HasInput(8)) {
    y = b.Add(b.Cast(y, DType::kI32), b.Take(PerChannel(node, 8, behind)));
  }
  const Value scale =
      b.Div(b.Mul(b.Take(PerChannel(node, 1, behind)), b.Take(PerChannel(node, 4, behind))),
            b.Take(PerChannel(node, 6, behind)));
  const Value zero = b.Input(7);
  if (!b.status().ok()) return b.status();
  LEMMA_RETURN_IF_ERROR(CheckNarrow(node, zero.dtype()));
  if (zero.type().num_elements() != 1) return node.Unsupported("several zero points of the output");
  y = RoundToSteps(b, b.Mul(b.Cast(y, DType::kF32), scale), b.Reshape(zero, {}), zero.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// The largest magnitude of an integer that is computed from narrow ones, as a quantized value minus
// its zero point is; nullopt if this is not seen.
std::optional<int64_t> LargestMagnitude(const Value& v) {
  const Node& node = v.node();
  if (IsInteger(v.dtype()) && SizeOf(v.dtype()) <= 2) return int64_t{1} << (8 * SizeOf(v.dtype()));
  if (node.has_payload() && IsInteger(v.dtype())) {
    int64_t most = 0;
    for (const int64_t i : node.payload().ToInts()) {
      if (i > INT32_MAX || i < INT32_MIN) return std::nullopt;
      most = std::max(most, std::abs(i));
    }
    return most;
  }
  if (!node.is_op() || !IsInteger(v.dtype())) return std::nullopt;
  int64_t most = 0;
  if (node.IsOp("cast") || node.IsOp("reshape") || node.IsOp("transpose")) {
    return LargestMagnitude(node.inputs()[0]);
  }
  if (!node.IsOp("add") && !node.IsOp("sub")) return std::nullopt;
  for (const Value& operand : node.inputs()) {
    const std::optional<int64_t> part = LargestMagnitude(operand);
    if (!part) return std::nullopt;
    most += *part;
  }
  return most <= INT32_MAX ? std::optional<int64_t>(most) : std::nullopt;
}

// ONNX's Conv takes floats only. One that holds every sum gives the same integers.
std::vector<std::pair<std::string, OnnxAttr>> ConvAttrs(const Node& node) {
  const Shape &x = node.inputs()[0].shape(), &w = node.inputs()[1].shape();
  const OnnxWindow window{
      {w[2], w[3]}, node.Ints("strides"), node.Ints("dilations"), node.Ints("pads")};
  return {{"strides", window.strides},
          OnnxPadding(x, window),
          {"dilations", window.dilations},
          {"group", node.Int("groups")}};
}

absl::Status ExportFloatConv(OnnxExport& out) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < out.node().inputs().size(); ++i) {
    inputs.push_back(out.Input(static_cast<int>(i)));
  }
  out.Emit("Conv", std::move(inputs), {out.Output(0)}, ConvAttrs(out.node()));
  return absl::OkStatus();
}

absl::Status ExportIntegerConv(OnnxExport& out) {
  const std::vector<Value>& in = out.node().inputs();
  const std::optional<int64_t> x = LargestMagnitude(in[0]), w = LargestMagnitude(in[1]);
  const std::optional<int64_t> bias = in.size() < 3 ? 0 : LargestMagnitude(in[2]);
  const int64_t terms = in[1].type().num_elements() / std::max<int64_t>(1, in[1].shape()[0]);
  const double most = x && w && bias ? 1.0 * *x * *w * terms + *bias : INFINITY;
  if (most > std::ldexp(1.0, 53)) {
    return absl::UnimplementedError(
        "ONNX's Conv does not take i32, and no float holds all of these sums");
  }
  const DType number = most <= std::ldexp(1.0, 24) ? DType::kF32 : DType::kF64;
  std::vector<std::string> inputs;
  for (int i = 0; i < static_cast<int>(in.size()); ++i) {
    inputs.push_back(out.Temporary());
    out.Emit("Cast", {out.Input(i)}, {inputs.back()}, {{"to", ToOnnxNumber(number)}});
  }
  const std::string sum = out.Temporary(), wide = out.Temporary();
  out.Emit("Conv", std::move(inputs), {sum}, ConvAttrs(out.node()));
  // By way of 64 bits, from which a cast to fewer wraps.
  out.Emit("Cast", {sum}, {wide}, {{"to", ToOnnxNumber(DType::kI64)}});
  out.Emit("Cast", {wide}, {out.Output(0)}, {{"to", ToOnnxNumber(in[0].dtype())}});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_conv2d() {
  OpDef op;
  op.name = "conv2d";
  op.group = "convolution";
  op.equation =
      "y[n,k,p,q] = sum(c < C, r < R, s < S) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]"
      " * w[k,c,r,s] + bias[k], g = k div (K div groups)";
  op.doc = "A read outside x is 0. C is counted per group, K is not. The bias may be left out.";
  op.input_names = {"x", "w", "bias"};
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = WindowAttrs();
  op.attrs.push_back({"groups", AttrKind::kInt, int64_t{1}, true,
                      "number of groups into which the channels of x and of y are divided"});
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
  op.onnx_export = [floats = ExportFor(OnnxFloats(), ExportFloatConv)](OnnxExport& out) {
    const DType dtype = out.node().inputs()[0].dtype();
    return dtype == DType::kI32 || dtype == DType::kI64 ? ExportIntegerConv(out) : floats(out);
  };
  return op;
}

}  // namespace lemma::ops
