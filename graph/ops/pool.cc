// Pooling over height and width.
#include <algorithm>

#include "graph/onnx_form.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/onnx_axes.h"
#include "graph/ops/onnx_types.h"
#include "graph/ops/status_macros.h"
#include "graph/ops/window.h"

namespace lemma::ops {
namespace {

struct Pool {
  Windows windows;
  bool ceil_mode;
  bool never_pads;
  Idx dims;  // of the result

  // The element of x that out's window has at r.
  Idx At(const Idx& out, const Idx& r) const {
    return {out[0], out[1], windows[0].Position(out[2], r[0]), windows[1].Position(out[3], r[1])};
  }
  Idx Kernel() const { return {windows[0].kernel, windows[1].kernel}; }
  // Where r falls on x rather than on padding.
  std::function<Guard(const Idx&)> Inside(const Idx& out) const {
    if (never_pads) return nullptr;
    return [this, out](const Idx& r) {
      Idx at = At(out, r);
      return InRange(at[2], windows[0].size) && InRange(at[3], windows[1].size);
    };
  }
};

absl::StatusOr<Pool> ReadPool(OpContext& c) {
  const Idx& kernel = c.Sizes("kernel");
  LEMMA_REQUIRE(c, kernel.size() == 2, "kernel must be [height, width], not ", kernel.size(),
                " numbers");
  Pool pool;
  LEMMA_ASSIGN_OR_RETURN(pool.windows, ReadWindows(c, kernel[0], kernel[1]));
  LEMMA_RETURN_IF_ERROR(RequireFit(c, pool.windows));
  pool.ceil_mode = c.Int("ceil_mode") != 0;
  pool.never_pads =
      pool.windows[0].NeverPads(pool.ceil_mode) && pool.windows[1].NeverPads(pool.ceil_mode);
  pool.dims = {c.Dim(0, 0), c.Dim(0, 1)};
  for (const WindowAxis& w : pool.windows) {
    // A window of padding alone has no maximum and no mean.
    LEMMA_REQUIRE(c, Lt(w.pad_begin, w.Reach()) && Lt(w.pad_end, w.Reach()), "padding ",
                  w.pad_begin.ToString(), " and ", w.pad_end.ToString(),
                  " must be less than the window's reach ", w.Reach().ToString());
    pool.dims.push_back(w.OutputSize(pool.ceil_mode));
  }
  return pool;
}

std::vector<AttrSpec> PoolAttrs() {
  std::vector<AttrSpec> attrs = WindowAttrs();
  attrs.insert(attrs.begin(), {"kernel", AttrKind::kInts, std::nullopt, true,
                               "size of the window: height, width"});
  attrs.push_back({"ceil_mode", AttrKind::kInt, int64_t{0}, false,
                   "1: the last window may stick out of the padded input, if it starts in the "
                   "input or the padding before it"});
  return attrs;
}

// y[n,c,p,q] = max(r < R, s < S, inside x) x[n, c, p*sh + r*dh - top, q*sw + s*dw - left].
absl::Status DefineMaxPool(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(Pool pool, ReadPool(c));
  c.Output(c.dtype(0), pool.dims, [&](const Idx& out) {
    return c.Reduce(
        ReduceKind::kMax, pool.Kernel(), [&](const Idx& r) { return c.Read(0, pool.At(out, r)); },
        pool.Inside(out));
  });
  return absl::OkStatus();
}

// Positions r of one axis' window at p with 0 <= Position(p, r) + before < size + before + after.
ScalarExpr Covered(OpContext& c, const WindowAxis& w, const IndexExpr& p, const IndexExpr& before,
                   const IndexExpr& after) {
  return c.Reduce(
      ReduceKind::kSum, {w.kernel}, [](const Idx&) { return ScalarExpr(1); },
      [&](const Idx& r) { return InRange(w.Position(p, r[0]) + before, w.size + before + after); });
}

// The sum of max_pool2d's window instead of its maximum, divided by the number of its elements.
absl::Status DefineAvgPool(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_ASSIGN_OR_RETURN(Pool pool, ReadPool(c));
  const bool include_pad = c.Int("count_include_pad") != 0;
  c.Output(c.dtype(0), pool.dims, [&](const Idx& out) {
    ScalarExpr sum = c.Reduce(
        ReduceKind::kSum, pool.Kernel(), [&](const Idx& r) { return c.Read(0, pool.At(out, r)); },
        pool.Inside(out));
    if (pool.never_pads || (include_pad && !pool.ceil_mode)) {
      return sum / ScalarExpr::Index(Product(pool.Kernel()));
    }
    // A product of counts, since a window is a product of its axes.
    ScalarExpr count = 1;
    for (int i = 0; i < 2; ++i) {
      const WindowAxis& w = pool.windows[i];
      ScalarExpr one_axis = include_pad ? Covered(c, w, out[2 + i], w.pad_begin, w.pad_end)
                                        : Covered(c, w, out[2 + i], 0, 0);
      count = i == 0 ? one_axis : count * one_axis;
    }
    return sum / count;
  });
  return absl::OkStatus();
}

// An ONNX pooling as `op` along the spatial axes of `w`; a pooling of the whole window is one of
// the parts in turn, so any number of axes is done two at a time.
absl::StatusOr<Value> ApplyPool(OnnxImport& node, const std::string& op, const Value& x,
                                const OnnxWindow& w, const Attrs& attrs) {
  const Shape& shape = x.shape();
  auto apply2d = [&](const Value& input, const OnnxWindow& part) {
    Attrs all = part.ToAttrs();
    all["kernel"] = part.kernel;
    all.insert(attrs.begin(), attrs.end());
    return node.Op(op, {input}, all);
  };
  if (w.rank() == 2) return apply2d(x, w);
  if (w.rank() == 1) {
    LEMMA_ASSIGN_OR_RETURN(Value wide, Reshape(node, x, {shape[0], shape[1], 1, shape[2]}));
    LEMMA_ASSIGN_OR_RETURN(Value y, apply2d(wide, w.WithUnitAxis()));
    return Reshape(node, y, {y.shape()[0], y.shape()[1], y.shape()[3]});
  }
  if (w.rank() != 3) return node.Unsupported(absl::StrCat(w.rank(), " spatial axes"));
  // First height and width of every depth, then depth for every position of the result.
  LEMMA_ASSIGN_OR_RETURN(Value slices,
                         Reshape(node, x, {shape[0], shape[1] * shape[2], shape[3], shape[4]}));
  LEMMA_ASSIGN_OR_RETURN(Value planes, apply2d(slices, w.Axes(1, 3)));
  const int64_t rows = planes.shape()[2], columns = planes.shape()[3];
  LEMMA_ASSIGN_OR_RETURN(Value tall,
                         Reshape(node, planes, {shape[0], shape[1], shape[2], rows * columns}));
  OnnxWindow depth = w.Axes(0, 1).WithUnitAxis();
  for (std::vector<int64_t>* v : {&depth.kernel, &depth.strides, &depth.dilations}) {
    std::swap((*v)[0], (*v)[1]);
  }
  depth.pads = {w.pads[0], 0, w.pads[3], 0};
  LEMMA_ASSIGN_OR_RETURN(Value y, apply2d(tall, depth));
  return Reshape(node, y, {shape[0], shape[1], y.shape()[2], rows, columns});
}

absl::StatusOr<std::vector<Value>> ImportMaxPool(OnnxImport& node) {
  if (node.num_outputs() > 1) return node.Unsupported("the indices of the maxima");
  node.FindAttr("storage_order");  // of the indices
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t ceil_mode, node.Int("ceil_mode", 0));
  LEMMA_ASSIGN_OR_RETURN(Value y, ApplyPool(node, "max_pool2d", x, w, {{"ceil_mode", ceil_mode}}));
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ImportAveragePool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t ceil_mode, node.Int("ceil_mode", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t include_pad, node.Int("count_include_pad", 0));
  LEMMA_ASSIGN_OR_RETURN(Value y,
                         ApplyPool(node, "avg_pool2d", x, w,
                                   {{"ceil_mode", ceil_mode}, {"count_include_pad", include_pad}}));
  return std::vector<Value>{y};
}

// y = (sum over the window of |x|^p)^(1/p): the mean times the window's size, between two powers.
absl::StatusOr<std::vector<Value>> ImportLpPool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t ceil_mode, node.Int("ceil_mode", 0));
  if (ceil_mode != 0) return node.Unsupported("ceil_mode");
  LEMMA_ASSIGN_OR_RETURN(int64_t p, node.Int("p", 2));
  if (p < 1) return absl::InvalidArgumentError(absl::StrCat("p is ", p, ", it must be positive"));
  LEMMA_ASSIGN_OR_RETURN(Value power, node.Scalar(x.dtype(), static_cast<double>(p)));
  LEMMA_ASSIGN_OR_RETURN(Value root, node.Scalar(x.dtype(), 1.0 / static_cast<double>(p)));
  int64_t elements = 1;
  for (int64_t k : w.kernel) elements *= k;
  LEMMA_ASSIGN_OR_RETURN(Value size, node.Scalar(x.dtype(), static_cast<double>(elements)));

  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("abs", {x}));
  if (p != 1) {
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("pow", {y, power}));
  }
  LEMMA_ASSIGN_OR_RETURN(y,
                         ApplyPool(node, "avg_pool2d", y, w, {{"count_include_pad", int64_t{1}}}));
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("mul", {y, size}));
  if (p != 1) {
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("pow", {y, root}));
  }
  return std::vector<Value>{y};
}

struct OnnxPadding {
  std::vector<int64_t> pads;
  bool ceil_mode;
  bool changed = false;
};

// ONNX's ceil_mode may have one window more, that covers no element. Where it has, the padding at
// the end says which windows there are, instead of ceil_mode.
OnnxPadding ExportPadding(const Node& node) {
  OnnxPadding padding{node.Ints("pads"), node.Int("ceil_mode") != 0};
  if (!padding.ceil_mode) return padding;
  std::vector<int64_t> pads = padding.pads;
  for (int i = 0; i < 2; ++i) {
    int64_t windows = node.type(0).shape[2 + i], stride = node.Ints("strides")[i];
    int64_t reach = (node.Ints("kernel")[i] - 1) * node.Ints("dilations")[i] + 1;
    int64_t padded = node.inputs()[0].shape()[2 + i] + pads[i];
    int64_t onnx_windows = (padded + pads[2 + i] - reach + stride - 1) / stride + 1;
    if (onnx_windows != windows) padding.changed = true;
    pads[2 + i] = std::max<int64_t>(0, (windows - 1) * stride + reach - padded);
  }
  if (padding.changed) {
    padding.pads = pads;
    padding.ceil_mode = false;
  }
  return padding;
}

absl::Status ExportPool(OnnxExport& out, const std::string& onnx) {
  const Node& node = out.node();
  const bool average = onnx == "AveragePool";
  OnnxPadding padding = ExportPadding(node);
  std::vector<std::pair<std::string, OnnxAttr>> attrs = {{"kernel_shape", node.Ints("kernel")},
                                                         {"strides", node.Ints("strides")},
                                                         {"pads", padding.pads},
                                                         {"ceil_mode", int64_t{padding.ceil_mode}}};
  if (average) {
    if (node.Ints("dilations") != std::vector<int64_t>{1, 1}) {
      return absl::UnimplementedError("AveragePool has no dilations in operator set 17");
    }
    if (padding.changed && node.Int("count_include_pad") != 0) {
      return absl::UnimplementedError("ONNX cannot express this ceil_mode with count_include_pad");
    }
    attrs.emplace_back("count_include_pad", node.Int("count_include_pad"));
  } else {
    attrs.emplace_back("dilations", node.Ints("dilations"));
  }
  out.Emit(onnx, {out.Input(0)}, {out.Output(0)}, attrs);
  return absl::OkStatus();
}

std::vector<std::string> PoolExamples() {
  return {
      "(f32[2,3,7,6]) {kernel = [2,3]}",
      "(f32[1,2,8,9]) {kernel = [3,3], strides = [2,2], pads = [1,1,1,1]}",
      "(f32[1,2,6,7]) {kernel = [3,2], strides = [2,3], pads = [2,0,1,1]}",
      "(f32[1,1,6,8]) {kernel = [3,3], strides = [2,2], ceil_mode = 1}",
      "(f32[1,1,4,4]) {kernel = [1,2], strides = [2,3], ceil_mode = 1}",
      "(f32[1,2,9,9]) {kernel = [3,2], dilations = [2,3], pads = [1,2,3,0]}",
  };
}

}  // namespace

OpDef Make_max_pool2d() {
  OpDef op;
  op.name = "max_pool2d";
  op.group = "pooling";
  op.equation =
      "y[n,c,p,q] = max(r < R, s < S, inside x) x[n, c, p*sh + r*dh - top, q*sw + s*dw - left]";
  op.doc = "Padding never wins.";
  op.input_names = {"x"};
  op.attrs = PoolAttrs();
  op.define = DefineMaxPool;
  op.examples = PoolExamples();
  op.examples.push_back("(u8[1,1,5,5]) {kernel = [3,3], pads = [1,1,1,1]}");
  op.onnx_import = {{"MaxPool", ImportMaxPool}};
  std::vector<DType> types = OnnxFloats();
  types.insert(types.end(), {DType::kI8, DType::kU8});
  op.onnx_export = ExportFor(types, [](OnnxExport& out) { return ExportPool(out, "MaxPool"); });
  return op;
}

OpDef Make_avg_pool2d() {
  OpDef op;
  op.name = "avg_pool2d";
  op.group = "pooling";
  op.equation =
      "y[n,c,p,q] = sum(r < R, s < S, inside x) x[n, c, p*sh + r*dh - top, q*sw + s*dw - left]"
      " / count";
  op.doc =
      "count is the number of the window's elements inside x, or inside x and its padding with "
      "count_include_pad.";
  op.input_names = {"x"};
  op.attrs = PoolAttrs();
  op.attrs.push_back({"count_include_pad", AttrKind::kInt, int64_t{0}, false,
                      "1: padding counts as elements that are 0"});
  op.define = DefineAvgPool;
  op.examples = PoolExamples();
  op.examples.push_back(
      "(f32[1,2,5,6]) {kernel = [3,3], strides = [2,2], pads = [1,1,1,2], count_include_pad = 1}");
  op.examples.push_back(
      "(f32[1,1,6,6]) {kernel = [3,3], strides = [2,2], pads = [1,1,0,0], ceil_mode = 1, "
      "count_include_pad = 1}");
  op.onnx_import = {{"AveragePool", ImportAveragePool}, {"LpPool", ImportLpPool}};
  op.onnx_export =
      ExportFor(OnnxFloats(), [](OnnxExport& out) { return ExportPool(out, "AveragePool"); });
  return op;
}

}  // namespace lemma::ops
