#include "graph/onnx/composites/pool.h"

#include <algorithm>

#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/ops/convolution/window.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// Applies an ONNX pooling as `op` along the spatial axes of `w`. A window can be pooled in parts,
// one after the other, so any number of axes is done two at a time.
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
  // First height and width for every depth, then depth for every position of the result.
  LEMMA_ASSIGN_OR_RETURN(
      Value slices,
      Reshape(node, x, {shape[0], ProductOf({shape[1], shape[2]}), shape[3], shape[4]}));
  LEMMA_ASSIGN_OR_RETURN(Value planes, apply2d(slices, w.Axes(1, 3)));
  const int64_t rows = planes.shape()[2], columns = planes.shape()[3];
  LEMMA_ASSIGN_OR_RETURN(
      Value tall,
      Reshape(node, planes, {shape[0], shape[1], shape[2], ProductOf({rows, columns})}));
  OnnxWindow depth = w.Axes(0, 1).WithUnitAxis();
  for (std::vector<int64_t>* v : {&depth.kernel, &depth.strides, &depth.dilations}) {
    std::swap((*v)[0], (*v)[1]);
  }
  depth.pads = {w.pads[0], 0, w.pads[3], 0};
  LEMMA_ASSIGN_OR_RETURN(Value y, apply2d(tall, depth));
  return Reshape(node, y, {shape[0], shape[1], y.shape()[2], rows, columns});
}

// x with zeros around it, so that whole windows without padding are those of ceil_mode.
absl::StatusOr<Value> PaddedForCeil(OnnxImport& node, const Value& x, OnnxWindow* w) {
  const int rank = w->rank();
  std::vector<int64_t> pads(2 * x.shape().size(), 0);
  for (int i = 0; i < rank; ++i) {
    const int64_t size = x.shape()[2 + i], before = w->pads[i], stride = w->strides[i];
    const int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
    const int64_t room = size + before + w->pads[rank + i] - reach;
    if (stride < 1 || room < 0) return absl::InvalidArgumentError("the window does not fit");
    // The last window starts in the input or in the padding before it.
    const int64_t windows =
        std::min((room + stride - 1) / stride + 1, (size + before + stride - 1) / stride);
    pads[2 + i] = before;
    pads[x.shape().size() + 2 + i] = (windows - 1) * stride + reach - size - before;
  }
  w->pads.assign(w->pads.size(), 0);
  return node.Op("pad", {x}, {{"pads", pads}});
}

struct ExportedPadding {
  std::vector<int64_t> pads;
  bool ceil_mode;
  bool changed = false;
};

// With ONNX's ceil_mode there may be one more window that covers no element. In that case the end
// padding is adjusted to give the right windows, instead of ceil_mode.
ExportedPadding ExportPadding(const Node& node, const Shape& pooled) {
  ExportedPadding padding{node.Ints("pads"), node.Int("ceil_mode") != 0};
  if (!padding.ceil_mode) return padding;
  std::vector<int64_t> pads = padding.pads;
  for (int i = 0; i < 2; ++i) {
    int64_t windows = pooled[2 + i], stride = node.Ints("strides")[i];
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

using OnnxAttrs = std::vector<std::pair<std::string, OnnxAttr>>;

OnnxAttrs WindowAttrsOf(const Node& node, const ExportedPadding& padding) {
  const OnnxWindow window{node.Ints("kernel"), node.Ints("strides"), node.Ints("dilations"),
                          padding.pads};
  return {{"kernel_shape", window.kernel},
          {"strides", window.strides},
          OnnxPadding(node.inputs()[0].shape(), window),
          {"ceil_mode", int64_t{padding.ceil_mode}}};
}

}  // namespace

absl::StatusOr<std::vector<Value>> ImportMaxPool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t ceil_mode, node.Int("ceil_mode", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t column_major, node.Int("storage_order", 0));
  LEMMA_ASSIGN_OR_RETURN(Value y, ApplyPool(node, "max_pool2d", x, w, {{"ceil_mode", ceil_mode}}));
  if (node.num_outputs() == 1) return std::vector<Value>{y};
  if (w.rank() > 2) return node.Unsupported("positions of maxima along 3 spatial axes");
  LEMMA_ASSIGN_OR_RETURN(Value index,
                         ApplyPool(node, "max_pool2d_index", x, w,
                                   {{"ceil_mode", ceil_mode}, {"column_major", column_major}}));
  return std::vector<Value>{y, index};
}

absl::StatusOr<std::vector<Value>> ImportAveragePool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value y, AveragePoolOf(node, x));
  return std::vector<Value>{y};
}

absl::StatusOr<Value> AveragePoolOf(OnnxImport& node, const Value& x) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t ceil_mode, node.Int("ceil_mode", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t include_pad, node.Int("count_include_pad", 0));
  return ApplyPool(node, "avg_pool2d", x, w,
                   {{"ceil_mode", ceil_mode}, {"count_include_pad", include_pad}});
}

// y = (sum over the window of |x|^p)^(1/p): the mean times the window's size, between two powers.
absl::StatusOr<std::vector<Value>> ImportLpPool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  LEMMA_ASSIGN_OR_RETURN(int64_t ceil_mode, node.Int("ceil_mode", 0));
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
  if (ceil_mode != 0) {
    LEMMA_ASSIGN_OR_RETURN(y, PaddedForCeil(node, y, &w));
  }
  LEMMA_ASSIGN_OR_RETURN(y,
                         ApplyPool(node, "avg_pool2d", y, w, {{"count_include_pad", int64_t{1}}}));
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("mul", {y, size}));
  if (p != 1) {
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("pow", {y, root}));
  }
  return std::vector<Value>{y};
}

// Puts each element of x at the place that max_pool2d_index gave, with zeros elsewhere.
absl::StatusOr<std::vector<Value>> ImportMaxUnpool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value index, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> kernel, node.Ints("kernel_shape"));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow w, ReadOnnxWindow(node, x.shape(), kernel));
  Shape pooled_from(x.shape().begin(), x.shape().begin() + 2);
  for (int i = 0; i < w.rank(); ++i) {
    pooled_from.push_back((x.shape()[2 + i] - 1) * w.strides[i] + w.kernel[i] - w.pads[i] -
                          w.pads[w.rank() + i]);
  }
  const int64_t elements = NumElements(pooled_from), values = x.type().num_elements();
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Scalar(x.dtype(), 0));
  LEMMA_ASSIGN_OR_RETURN(Value zeros, node.Op("expand", {zero}, {{"shape", Shape{elements}}}));
  LEMMA_ASSIGN_OR_RETURN(x, Reshape(node, x, {values}));
  LEMMA_ASSIGN_OR_RETURN(index, Reshape(node, index, {values}));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("scatter_elements", {zeros, index, x}));
  LEMMA_ASSIGN_OR_RETURN(y, Reshape(node, y, pooled_from));
  if (!node.HasInput(2)) return std::vector<Value>{y};
  // A larger output repeats nothing: the additional elements stay 0.
  LEMMA_ASSIGN_OR_RETURN(Tensor wanted, node.ConstantInput(2));
  std::vector<int64_t> sizes = wanted.ToInts(), pads(pooled_from.size(), 0);
  if (sizes.size() != pooled_from.size()) {
    return absl::InvalidArgumentError(absl::StrCat("output_shape ", ToString(sizes), " must have ",
                                                   pooled_from.size(), " sizes"));
  }
  for (size_t i = 0; i < sizes.size(); ++i) pads.push_back(sizes[i] - pooled_from[i]);
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("pad", {y}, {{"pads", pads}}));
  return std::vector<Value>{y};
}

absl::Status ExportMaxPool(OnnxExport& out) {
  const Node& node = out.node();
  OnnxAttrs attrs = WindowAttrsOf(node, ExportPadding(node, node.type(0).shape));
  attrs.emplace_back("dilations", node.Ints("dilations"));
  out.Emit("MaxPool", {out.Input(0)}, {out.Output(0)}, attrs);
  return absl::OkStatus();
}

namespace {

void EmitIndices(OnnxExport& out, const Shape& pooled, int64_t column_major, std::string indices) {
  OnnxAttrs attrs = WindowAttrsOf(out.node(), ExportPadding(out.node(), pooled));
  attrs.emplace_back("dilations", out.node().Ints("dilations"));
  attrs.emplace_back("storage_order", column_major);
  out.Emit("MaxPool", {out.Input(0)}, {out.Temporary(), std::move(indices)}, attrs);
}

}  // namespace

absl::Status ExportMaxPoolIndex(OnnxExport& out) {
  EmitIndices(out, out.node().type(0).shape, out.node().Int("column_major"), out.Output(0));
  return absl::OkStatus();
}

// Exports the maxima's positions, and a sum into zeros at these positions.
absl::Status ExportMaxPoolGradient(OnnxExport& out) {
  const TensorType& type = out.node().type(0);
  LEMMA_ASSIGN_OR_RETURN(Tensor zeros, Tensor::Filled({type.dtype, {type.num_elements()}}, 0));
  const std::string flat = out.Constant(Tensor::Ints({-1}));
  std::string indices = out.Temporary(), positions = out.Temporary(), dy = out.Temporary(),
              sums = out.Temporary();
  EmitIndices(out, out.node().inputs()[1].shape(), 0, indices);
  out.Emit("Reshape", {indices, flat}, {positions});
  out.Emit("Reshape", {out.Input(1), flat}, {dy});
  out.Emit("ScatterElements", {out.Constant(std::move(zeros)), positions, dy}, {sums},
           {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  out.Emit("Reshape", {sums, out.Constant(Tensor::Ints(type.shape))}, {out.Output(0)});
  return absl::OkStatus();
}

absl::Status ExportAveragePool(OnnxExport& out) {
  const Node& node = out.node();
  ExportedPadding padding = ExportPadding(node, node.type(0).shape);
  if (node.Ints("dilations") != std::vector<int64_t>{1, 1}) {
    return absl::UnimplementedError("AveragePool has no dilations in operator set 17");
  }
  // Windows that end behind the padding count fewer elements than windows with more padding would.
  bool longer = false;
  for (int i = 2; i < 4; ++i) longer = longer || padding.pads[i] > node.Ints("pads")[i];
  if (padding.changed && longer && node.Int("count_include_pad") != 0) {
    return absl::UnimplementedError("ONNX cannot express this ceil_mode with count_include_pad");
  }
  OnnxAttrs attrs = WindowAttrsOf(node, padding);
  attrs.emplace_back("count_include_pad", node.Int("count_include_pad"));
  out.Emit("AveragePool", {out.Input(0)}, {out.Output(0)}, attrs);
  return absl::OkStatus();
}

}  // namespace lemma::ops
