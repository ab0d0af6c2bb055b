// Pooling over height and width.
#include "graph/onnx/composites/pool.h"

#include <algorithm>

#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/convolution/conv_gradient.h"
#include "graph/ops/convolution/window.h"

namespace lemma::ops {
namespace {

struct Pool {
  Windows windows;
  bool ceil_mode;
  bool never_pads;
  Idx dims;  // of the result

  // The element of x at position r of out's window.
  Idx At(const Idx& out, const Idx& r) const {
    return {out[0], out[1], windows[0].Position(out[2], r[0]), windows[1].Position(out[3], r[1])};
  }
  Idx Kernel() const { return {windows[0].kernel, windows[1].kernel}; }
  // Whether r lies in x, not in padding.
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
    // A window with only padding has no maximum and no mean.
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

ScalarExpr MaxOf(OpContext& c, const Pool& pool, const Idx& out) {
  return c.Reduce(
      ReduceKind::kMax, pool.Kernel(), [&](const Idx& r) { return c.Read(0, pool.At(out, r)); },
      pool.Inside(out));
}

// y[n,c,p,q] = max(r < R, s < S, inside x) x[n, c, p*sh + r*dh - top, q*sw + s*dw - left].
absl::Status DefineMaxPool(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(Pool pool, ReadPool(c));
  c.Output(c.dtype(0), pool.dims, [&](const Idx& out) { return MaxOf(c, pool, out); });
  return absl::OkStatus();
}

// The position in a tensor of shape `dims`, counted in row-major or, within [H,W], in column-major
// order.
IndexExpr PositionOf(const Idx& at, const Idx& dims, bool column_major) {
  IndexExpr plane = (at[0] * dims[1] + at[1]) * dims[2] * dims[3];
  return plane + (column_major ? at[3] * dims[2] + at[2] : at[2] * dims[3] + at[3]);
}

// The position in x of max_pool2d's maximum; the first one of several. NaN, which is the maximum of
// a window that contains it, equals nothing.
OpContext::Body FirstMaximum(OpContext& c, const Pool& pool, bool column_major) {
  TensorId max =
      c.Local(c.dtype(0), pool.dims, [&](const Idx& out) { return MaxOf(c, pool, out); });
  return [&c, &pool, max, column_major](const Idx& out) {
    return c.Reduce(
        ReduceKind::kMin, pool.Kernel(),
        [&](const Idx& r) {
          Idx at = pool.At(out, r);
          IndexExpr position = PositionOf(at, c.dims(0), column_major);
          const ScalarExpr x = c.Read(0, at);
          ScalarExpr attains = Apply(ScalarFn::kEqual, x, c.Read(max, out));
          if (IsFloat(c.dtype(0))) {
            attains = Apply(ScalarFn::kOr, attains, Apply(ScalarFn::kIsNan, x));
          }
          return Apply(ScalarFn::kWhere, attains, ScalarExpr::Index(position),
                       ScalarExpr::Index(Product(c.dims(0))));
        },
        pool.Inside(out));
  };
}

absl::Status DefineMaxPoolIndex(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(Pool pool, ReadPool(c));
  c.Output(DType::kI64, pool.dims, FirstMaximum(c, pool, c.Int("column_major") != 0));
  return absl::OkStatus();
}

// dx[n,c,h,w] = sum(r < R, s < S, p and q whole and inside dy, h,w the first maximum of p,q)
//                   dy[n,c,p,q], p = (h + top - r*dh) / sh, q = (w + left - s*dw) / sw.
absl::Status DefineMaxPoolGradient(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireFloat(c));
  LEMMA_ASSIGN_OR_RETURN(Pool pool, ReadPool(c));
  LEMMA_REQUIRE(c, c.rank(1) == 4, "dy must be of rank 4, not ", c.rank(1));
  for (int d = 0; d < 4; ++d) {
    LEMMA_REQUIRE(c, Eq(c.Dim(1, d), pool.dims[d]), "dimension ", d, " of dy is ",
                  c.Dim(1, d).ToString(), ", max_pool2d's is ", pool.dims[d].ToString());
  }
  TensorId first = c.Local(DType::kI64, pool.dims, FirstMaximum(c, pool, false));
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    auto scaled = [&](int d, const Idx& r) {
      const WindowAxis& w = pool.windows[d];
      return out[2 + d] + w.pad_begin - r[d] * w.dilation;
    };
    auto window = [&](int d, const Idx& r) {
      return FloorDiv(scaled(d, r), pool.windows[d].stride);
    };
    return c.Reduce(
        ReduceKind::kSum, pool.Kernel(),
        [&](const Idx& r) {
          const Idx at = {out[0], out[1], window(0, r), window(1, r)};
          const ScalarExpr here = ScalarExpr::Index(PositionOf(out, c.dims(0), false));
          const ScalarExpr hit = Apply(ScalarFn::kEqual, c.Read(first, at), here);
          return Apply(ScalarFn::kWhere, hit, c.Read(1, at), 0);
        },
        [&](const Idx& r) {
          Guard inside = true;
          for (int d : {0, 1}) {
            inside = inside && Eq(Mod(scaled(d, r), pool.windows[d].stride), 0) &&
                     InRange(window(d, r), pool.dims[2 + d]);
          }
          return inside;
        });
  });
  return absl::OkStatus();
}

// The number of positions r of one axis' window at p with 0 <= Position(p, r) + before < size +
// before + after.
ScalarExpr Covered(OpContext& c, const WindowAxis& w, const IndexExpr& p, const IndexExpr& before,
                   const IndexExpr& after) {
  return c.Reduce(
      ReduceKind::kSum, {w.kernel}, [](const Idx&) { return ScalarExpr(1); },
      [&](const Idx& r) { return InRange(w.Position(p, r[0]) + before, w.size + before + after); });
}

// The sum over max_pool2d's window, divided by the number of its elements.
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
    // A product of counts, since a window is a product of axes.
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

// The elements that avg_pool2d counts in each window along one axis.
std::vector<double> Counts(const Node& node, size_t axis, bool include_pad) {
  const int64_t kernel = node.Ints("kernel")[axis], stride = node.Ints("strides")[axis],
                dilation = node.Ints("dilations")[axis];
  const int64_t before = node.Ints("pads")[axis], after = node.Ints("pads")[2 + axis];
  const int64_t size = node.inputs()[0].shape()[2 + axis];
  std::vector<double> counts;
  for (int64_t p = 0; p < node.type(0).shape[2 + axis]; ++p) {
    double count = 0;
    for (int64_t r = 0; r < kernel; ++r) {
      const int64_t at = p * stride + r * dilation - before;
      count += include_pad ? at < size + after : at >= 0 && at < size;
    }
    counts.push_back(count);
  }
  return counts;
}

// dx[n,c,h,w] = sum over the windows that cover it of dy / count: the transpose of the window sums.
std::vector<Value> AvgPoolGradient(GradientBuilder& f) {
  const Node& node = f.node();
  const Value& x = f.Input(0);
  const bool include_pad = node.Int("count_include_pad") != 0;
  const std::vector<double> rows = Counts(node, 0, include_pad),
                            columns = Counts(node, 1, include_pad);
  std::vector<double> counts;
  for (double row : rows) {
    for (double column : columns) counts.push_back(row * column);
  }
  const bool alike =
      std::count(counts.begin(), counts.end(), counts[0]) == static_cast<int64_t>(counts.size());
  const Shape dims = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns.size())};
  const Value count = alike ? f.Scalar(x.dtype(), counts[0])
                            : f.Constant(Tensor::FromDoubles({x.dtype(), dims}, counts));
  const int64_t channels = x.shape()[1];
  const std::vector<int64_t>& kernel = node.Ints("kernel");
  const Value ones =
      f.Constant(Tensor::Filled({x.dtype(), {channels, 1, kernel[0], kernel[1]}}, 1));
  return {SpreadWindows(f, node, f.Div(f.ResultGradient(), count), ones, channels,
                        {x.shape()[2], x.shape()[3]})};
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
  op.doc = "Padding does not take part in the maximum.";
  op.input_names = {"x"};
  op.attrs = PoolAttrs();
  op.define = DefineMaxPool;
  // dx = max_pool2d_gradient(x, dy)
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{
        f.Op("max_pool2d_gradient", {f.Input(0), f.ResultGradient()}, f.node().attrs())};
  };
  op.examples = PoolExamples();
  op.examples.push_back("(u8[1,1,5,5]) {kernel = [3,3], pads = [1,1,1,1]}");
  op.onnx_import = {{"MaxPool", ImportMaxPool}, {"MaxUnpool", ImportMaxUnpool}};
  std::vector<DType> types = OnnxFloats();
  types.insert(types.end(), {DType::kI8, DType::kU8});
  op.onnx_export = ExportFor(types, ExportMaxPool);
  return op;
}

OpDef Make_max_pool2d_index() {
  OpDef op;
  op.name = "max_pool2d_index";
  op.group = "pooling";
  op.equation =
      "y[n,c,p,q] = min(r < R, s < S, inside x, x[e] = max_pool2d(x)[n,c,p,q]) position of e, "
      "where e = (n, c, p*sh + r*dh - top, q*sw + s*dw - left)";
  op.doc =
      "Positions count the elements of x row by row. NaN is the maximum of a window that contains "
      "NaN.";
  op.input_names = {"x"};
  op.attrs = PoolAttrs();
  op.attrs.push_back({"column_major", AttrKind::kInt, int64_t{0}, false,
                      "1: within each [H,W], positions count column by column"});
  op.define = DefineMaxPoolIndex;
  op.examples = PoolExamples();
  op.examples.push_back("(f32[2,2,3,4]) {kernel = [2,2], strides = [2,1], column_major = 1}");
  op.onnx_export = ExportFor(OnnxFloats(), ExportMaxPoolIndex);
  return op;
}

OpDef Make_max_pool2d_gradient() {
  OpDef op;
  op.name = "max_pool2d_gradient";
  op.group = "pooling";
  op.equation =
      "y[n,c,h,w] = sum(r < R, s < S, p and q whole and inside dy, x[n,c,h,w] the first maximum of "
      "the window p,q) dy[n,c,p,q], p = (h + top - r*dh) / sh, q = (w + left - s*dw) / sw";
  op.doc = "Puts each dy where max_pool2d, with the same windows, took its maximum from.";
  op.input_names = {"x", "dy"};
  op.min_inputs = op.max_inputs = 2;
  op.attrs = PoolAttrs();
  op.define = DefineMaxPoolGradient;
  op.examples = {
      "(f32[2,2,5,6], f32[2,2,2,2]) {kernel = [2,3], strides = [2,2]}",
      "(f32[1,1,5,6], f32[1,1,3,2]) {kernel = [3,2], strides = [2,3], pads = [1,0,1,1]}",
      "(f32[1,2,7,7], f32[1,2,3,2]) {kernel = [3,2], dilations = [2,3], strides = [1,2]}",
      "(f32[1,1,4,4], f32[1,1,2,2]) {kernel = [1,2], strides = [2,3], ceil_mode = 1}"};
  op.onnx_export = ExportFor(OnnxFloats(), ExportMaxPoolGradient);
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
  op.gradient = AvgPoolGradient;
  op.examples = PoolExamples();
  op.examples.push_back(
      "(f32[1,2,5,6]) {kernel = [3,3], strides = [2,2], pads = [1,1,1,2], count_include_pad = 1}");
  op.examples.push_back(
      "(f32[1,1,6,6]) {kernel = [3,3], strides = [2,2], pads = [1,1,0,0], ceil_mode = 1, "
      "count_include_pad = 1}");
  op.onnx_import = {{"AveragePool", ImportAveragePool}, {"LpPool", ImportLpPool}};
  op.onnx_export = ExportFor(OnnxFloats(), ExportAveragePool);
  return op;
}

}  // namespace lemma::ops
