#include <algorithm>

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/depth.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/convolution/conv_gradient.h"
#include "graph/ops/convolution/window.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// conv2d's windows with input and output exchanged: element i of x is spread over the output
// positions i*stride + r*dilation - pad_begin. So position p receives x[i] * w[r] where p +
// pad_begin - r*dilation = i*stride.
struct Spread {
  IndexExpr element;  // i
  Guard exists;       // the division is exact and i is an element of x
};

Spread SpreadAt(const WindowAxis& w, const IndexExpr& p, const IndexExpr& r) {
  IndexExpr scaled = p + w.pad_begin - r * w.dilation;
  IndexExpr element = FloorDiv(scaled, w.stride);
  return {element, Eq(Mod(scaled, w.stride), 0) && InRange(element, w.size)};
}

// y[n,k,p,q] = sum(c < C, r < R, s < S, where i and j are whole numbers and inside x)
//                  x[n, g*C + c, i, j] * w[g*C + c, k - g*K, r, s]  (+ bias[k]),
// i = (p + top - r*dh) / sh, j = (q + left - s*dw) / sw, g = k div K.
absl::Status DefineConvTranspose2d(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_REQUIRE(c, c.rank(0) == 4, "x must be [N,C,H,W], not of rank ", c.rank(0));
  LEMMA_REQUIRE(c, c.rank(1) == 4, "w must be [C,K/groups,R,S], not of rank ", c.rank(1));
  const IndexExpr& groups = c.Size("groups");
  const IndexExpr &channels = c.Dim(0, 1), &per_group = c.Dim(1, 1);
  LEMMA_REQUIRE(c, Ge(groups, 1), "groups must be positive, not ", groups.ToString());
  LEMMA_ASSIGN_OR_RETURN(Windows windows, ReadWindows(c, c.Dim(1, 2), c.Dim(1, 3)));
  LEMMA_REQUIRE(c, Eq(c.Dim(1, 0), channels), "x has ", channels.ToString(), " channels, w has ",
                c.Dim(1, 0).ToString());
  LEMMA_REQUIRE(c, Eq(Mod(channels, groups), 0), channels.ToString(),
                " channels do not divide into ", groups.ToString(), " groups");
  const IndexExpr outputs = per_group * groups;
  if (c.num_inputs() == 3) LEMMA_RETURN_IF_ERROR(RequireVector(c, 2, "bias", outputs));
  const Idx& more = c.Sizes("output_padding");
  LEMMA_REQUIRE(c, more.size() == 2, "output_padding must be [height, width], not ", more.size(),
                " numbers");

  Idx dims = {c.Dim(0, 0), outputs};
  for (int i = 0; i < 2; ++i) {
    const WindowAxis& w = windows[i];
    LEMMA_REQUIRE(c, Ge(more[i], 0), "output_padding must not be negative");
    LEMMA_REQUIRE(c, Ge(w.size, 1), "x is empty");
    IndexExpr size = (w.size - 1) * w.stride + w.Reach() - w.pad_begin - w.pad_end + more[i];
    LEMMA_REQUIRE(c, Ge(size, 1), "the padding removes the whole output");
    dims.push_back(size);
  }
  const IndexExpr group_channels = FloorDiv(channels, groups);
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    IndexExpr group = FloorDiv(out[1], per_group);
    auto spread = [&](const Idx& r) {
      return std::array<Spread, 2>{SpreadAt(windows[0], out[2], r[1]),
                                   SpreadAt(windows[1], out[3], r[2])};
    };
    ScalarExpr sum = c.Reduce(
        ReduceKind::kSum, {group_channels, c.Dim(1, 2), c.Dim(1, 3)},
        [&](const Idx& r) {
          auto [row, column] = spread(r);
          IndexExpr channel = group * group_channels + r[0];
          return c.Read(0, {out[0], channel, row.element, column.element}) *
                 c.Read(1, {channel, Mod(out[1], per_group), r[1], r[2]});
        },
        [&](const Idx& r) {
          auto [row, column] = spread(r);
          return row.exists && column.exists;
        });
    return c.num_inputs() == 3 ? sum + c.Read(2, {out[1]}) : sum;
  });
  return absl::OkStatus();
}

// dx[n,c,i,j] = sum(k, r, s) dy[n,k, i*sh + r*dh - top, …] * w[c,k,r,s]: a conv2d of dy, without
// windows that lie only in the output padding. dw has the products of x and the windows of dy
// (graph/ops/convolution/conv_gradient.h).
std::vector<Value> ConvTranspose2dGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &w = f.Input(1), &dy = f.ResultGradient();
  Attrs attrs = f.node().attrs();
  attrs.erase("output_padding");
  std::vector<Value> gradients = {
      f.Slice(f.Op("conv2d", {dy, w}, attrs), {0, 0, 0, 0}, x.shape()),
      WindowProducts(f, f.node(), dy, x, f.node().Int("groups"), w.shape())};
  if (f.num_inputs() == 3) gradients.push_back(ChannelSums(f, dy));
  return gradients;
}

// Padding and output padding from ONNX's attributes, one entry per spatial axis.
struct OutputPlan {
  std::vector<int64_t> pads, output_padding;
};

absl::StatusOr<OutputPlan> PlanOutput(const OnnxImport& node, const Shape& input,
                                      const OnnxWindow& w) {
  const size_t rank = w.kernel.size();
  OutputPlan plan{w.pads, {}};
  LEMMA_ASSIGN_OR_RETURN(plan.output_padding,
                         node.Ints("output_padding", std::vector<int64_t>(rank, 0)));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> shape,
                         node.Ints("output_shape", std::vector<int64_t>{}));
  LEMMA_ASSIGN_OR_RETURN(std::string auto_pad, node.String("auto_pad", "NOTSET"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (shape.size() == rank + 2) shape.erase(shape.begin(), shape.begin() + 2);
  if (plan.output_padding.size() != rank || (!shape.empty() && shape.size() != rank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("output_padding and output_shape must have ", rank, " entries"));
  }
  if (!same && shape.empty()) return plan;
  if (IsSymbolic(input)) {
    return node.Unsupported("auto_pad or output_shape with symbolic sizes");
  }
  for (size_t i = 0; i < rank; ++i) {
    int64_t wanted = shape.empty() ? input[i + 2] * w.strides[i] : shape[i];
    int64_t total = (input[i + 2] - 1) * w.strides[i] + plan.output_padding[i] +
                    (w.kernel[i] - 1) * w.dilations[i] + 1 - wanted;
    // A negative total is appended as output padding.
    if (total < 0) plan.output_padding[i] -= total;
    total = std::max<int64_t>(total, 0);
    int64_t less = total / 2, more = total - less;
    bool upper = auto_pad == "SAME_UPPER";
    plan.pads[i] = upper ? less : more;
    plan.pads[rank + i] = upper ? more : less;
  }
  return plan;
}

struct Transposed {
  OnnxWindow window;
  std::vector<int64_t> output_padding;
  int64_t groups = 1;

  Transposed Axes(int begin, int end) const {
    return {window.Axes(begin, end),
            {output_padding.begin() + begin, output_padding.begin() + end},
            groups};
  }
};

absl::StatusOr<Value> ApplyTransposed2d(OnnxImport& node, const std::vector<Value>& in,
                                        const Transposed& t) {
  Attrs attrs = t.window.ToAttrs();
  attrs["groups"] = t.groups;
  attrs["output_padding"] = t.output_padding;
  return node.Op("conv_transpose2d", in, attrs);
}

absl::StatusOr<Value> ApplyTransposed1d(OnnxImport& node, std::vector<Value> in, Transposed t) {
  for (int i = 0; i < 2; ++i) {
    Shape shape = in[i].shape();
    shape.insert(shape.begin() + 2, 1);
    LEMMA_ASSIGN_OR_RETURN(in[i], Reshape(node, in[i], shape));
  }
  t.window = t.window.WithUnitAxis();
  t.output_padding.insert(t.output_padding.begin(), 0);
  LEMMA_ASSIGN_OR_RETURN(Value y, ApplyTransposed2d(node, in, t));
  return Reshape(node, y, {y.shape()[0], y.shape()[1], y.shape()[3]});
}

// Along the depth: puts zeros between the elements of x, then applies an ordinary window with
// reversed taps.
absl::StatusOr<Value> ApplyTransposed3d(OnnxImport& node, std::vector<Value> in,
                                        const Transposed& t) {
  const Shape x = in[0].shape(), w = in[1].shape();
  const OnnxWindow depth = t.window.Axes(0, 1);
  const int64_t stride = depth.strides[0], taps = depth.kernel[0];
  if (stride < 1 || x[2] < 1) return absl::InvalidArgumentError("strides and sizes are positive");
  Value& stuffed = in[0];
  if (stride > 1) {
    LEMMA_ASSIGN_OR_RETURN(stuffed, Reshape(node, stuffed, {x[0], x[1], x[2], 1, x[3], x[4]}));
    std::vector<int64_t> pads = {0, 0, 0, 0, 0, 0, 0, 0, 0, stride - 1, 0, 0};
    LEMMA_ASSIGN_OR_RETURN(stuffed, node.Op("pad", {stuffed}, {{"pads", pads}}));
    LEMMA_ASSIGN_OR_RETURN(stuffed,
                           Reshape(node, stuffed, {x[0], x[1], x[2] * stride, x[3], x[4]}));
  }
  // The zeros after the last element already count as padding.
  const int64_t reach = (taps - 1) * depth.dilations[0];
  const int64_t after = reach - depth.pads[1] + t.output_padding[0] - (stride - 1);
  OnnxWindow ordinary{{taps}, {1}, depth.dilations, {reach - depth.pads[0], after}};
  LEMMA_ASSIGN_OR_RETURN(in[0], DepthToChannels(node, stuffed, ordinary));

  Attrs reversed = {
      {"starts", Shape{0, 0, taps - 1, 0, 0}}, {"sizes", w}, {"steps", Shape{1, 1, -1, 1, 1}}};
  LEMMA_ASSIGN_OR_RETURN(in[1], node.Op("slice", {in[1]}, reversed));
  LEMMA_ASSIGN_OR_RETURN(in[1], node.Op("transpose", {in[1]}, {{"perm", Shape{0, 2, 1, 3, 4}}}));
  LEMMA_ASSIGN_OR_RETURN(in[1], Reshape(node, in[1], {w[0] * taps, w[1], w[3], w[4]}));
  LEMMA_ASSIGN_OR_RETURN(Value y, ApplyTransposed2d(node, in, t.Axes(1, 3)));
  return PositionsToDepth(node, y, x[0]);
}

absl::StatusOr<std::vector<Value>> ImportConvTranspose(OnnxImport& node) {
  std::vector<Value> in;
  for (int i = 0; i < 3 && node.HasInput(i); ++i) {
    LEMMA_ASSIGN_OR_RETURN(Value v, node.Input(i));
    in.push_back(v);
  }
  if (in.size() < 2) return absl::InvalidArgumentError("input and weight are required");
  LEMMA_ASSIGN_OR_RETURN(auto kernel, KernelOfWeight(node, in[1].shape(), 3));
  Transposed t;
  LEMMA_ASSIGN_OR_RETURN(t.window, ReadOnnxWindow(node, in[0].shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(OutputPlan plan, PlanOutput(node, in[0].shape(), t.window));
  t.window.pads = plan.pads;
  t.output_padding = plan.output_padding;
  LEMMA_ASSIGN_OR_RETURN(t.groups, node.Int("group", 1));
  if (t.window.rank() == 3 && IsSymbolic(in[0].shape())) {
    return node.Unsupported("symbolic sizes in 3 spatial dimensions");
  }
  absl::StatusOr<Value> y = t.window.rank() == 1   ? ApplyTransposed1d(node, in, t)
                            : t.window.rank() == 2 ? ApplyTransposed2d(node, in, t)
                                                   : ApplyTransposed3d(node, in, t);
  if (!y.ok()) return y.status();
  return std::vector<Value>{*y};
}

}  // namespace

OpDef Make_conv_transpose2d() {
  OpDef op;
  op.name = "conv_transpose2d";
  op.group = "convolution";
  op.equation =
      "y[n,k,p,q] = sum(c < C, r < R, s < S, i and j whole and inside x) x[n, g*C + c, i, j]"
      " * w[g*C + c, k - g*K, r, s] + bias[k], "
      "i = (p + top - r*dh) / sh, j = (q + left - s*dw) / sw, g = k div K";
  op.doc =
      "The transpose of conv2d as a linear map. Padding is cut off the output. C and K are counted "
      "per group. The bias may be left out.";
  op.input_names = {"x", "w", "bias"};
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = WindowAttrs();
  op.attrs.push_back({"groups", AttrKind::kInt, int64_t{1}, true,
                      "number of groups into which the channels of x and of y are divided"});
  op.attrs.push_back({"output_padding", AttrKind::kInts, std::vector<int64_t>{0, 0}, true,
                      "rows and columns added at the bottom and at the right"});
  op.define = DefineConvTranspose2d;
  op.gradient = ConvTranspose2dGradient;
  op.examples = {
      "(f32[1,2,3,4], f32[2,3,3,3])",
      "(f32[2,3,4,3], f32[3,2,3,2], f32[2]) {strides = [2,3], pads = [1,0,0,1]}",
      "(f32[1,4,3,3], f32[4,2,3,3], f32[4]) {groups = 2, dilations = [2,1], pads = [1,1,2,1]}",
      "(f32[1,1,3,3], f32[1,2,3,3]) {strides = [2,2], output_padding = [1,1]}",
      "(f32[1,2,2,3], f32[2,1,2,1]) {strides = [2,1], output_padding = [3,2], groups = 2}",
  };
  op.onnx_import = {{"ConvTranspose", ImportConvTranspose}};
  op.onnx_export =
      ExportFor(OnnxFloats(), ExportAs("ConvTranspose", {{"strides", "strides"},
                                                         {"pads", "pads"},
                                                         {"dilations", "dilations"},
                                                         {"groups", "group"},
                                                         {"output_padding", "output_padding"}}));
  return op;
}

}  // namespace lemma::ops
