#include "graph/ops/quantize.h"

#include "graph/onnx_form.h"
#include "graph/ops/checks.h"
#include "graph/ops/onnx_axes.h"
#include "graph/ops/onnx_dtype.h"

namespace lemma::ops {
namespace {

using Outputs = absl::StatusOr<std::vector<Value>>;

// A scale or zero point of one value for each position along `axis`, shaped to broadcast with x.
absl::StatusOr<Value> AlongAxis(OnnxImport& node, const Value& v, const Value& x, int64_t axis) {
  if (v.type().num_elements() == 1) return Reshape(node, v, {});
  if (v.type().rank() != 1) return node.Unsupported("scales in blocks");
  Shape shape(x.shape().size() - static_cast<size_t>(axis), 1);
  shape[0] = v.shape()[0];
  return Reshape(node, v, shape);
}

// round(x / scale) + zero_point, kept inside what `to` can hold.
absl::StatusOr<Value> Quantized(OnnxImport& node, const Value& x, const Value& scale,
                                const std::optional<Value>& zero_point, DType to) {
  if (to != DType::kU8 && to != DType::kI8) return node.Unsupported("quantization to this type");
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("div", {x, scale}));
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("round", {y}));
  if (zero_point) {
    LEMMA_ASSIGN_OR_RETURN(Value zero, Cast(node, *zero_point, y.dtype()));
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("add", {y, zero}));
  }
  const bool is_unsigned = to == DType::kU8;
  LEMMA_ASSIGN_OR_RETURN(
      y, node.Op("clip", {y},
                 {{"min", is_unsigned ? 0.0 : -128.0}, {"max", is_unsigned ? 255.0 : 127.0}}));
  return Cast(node, y, to);
}

absl::StatusOr<int64_t> Axis(OnnxImport& node, const Value& x) {
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  // Without an axis there is nothing to choose: scales are scalars.
  return x.type().rank() < 2 ? 0 : NormalizeOnnxAxis(axis, x.type().rank());
}

Outputs ImportQuantizeLinear(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const int64_t axis, Axis(node, x));
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, x, axis));
  LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, scale.dtype()));
  DType to = DType::kU8;
  std::optional<Value> zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(Value given, node.Input(2));
    to = given.dtype();
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, given, x, axis));
  }
  LEMMA_ASSIGN_OR_RETURN(Value y, Quantized(node, x, scale, zero, to));
  return std::vector<Value>{y};
}

// (x - zero_point) * scale.
Outputs ImportDequantizeLinear(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const int64_t axis, Axis(node, x));
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, x, axis));
  LEMMA_ASSIGN_OR_RETURN(Value y, Cast(node, x, scale.dtype()));
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(Value zero, node.Input(2));
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, x, axis));
    LEMMA_ASSIGN_OR_RETURN(zero, Cast(node, zero, scale.dtype()));
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("sub", {y, zero}));
  }
  LEMMA_ASSIGN_OR_RETURN(y, node.Op("mul", {y, scale}));
  return std::vector<Value>{y};
}

// Scale and zero point from the extremes of x and 0, then QuantizeLinear to u8.
Outputs ImportDynamicQuantizeLinear(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value flat, Reshape(node, x, {x.type().num_elements()}));
  LEMMA_ASSIGN_OR_RETURN(Value none, node.Scalar(x.dtype(), 0));
  LEMMA_ASSIGN_OR_RETURN(Value levels, node.Scalar(x.dtype(), 255));
  const Attrs all = {{"axes", std::vector<int64_t>{0}}, {"keepdims", int64_t{0}}};
  LEMMA_ASSIGN_OR_RETURN(Value high, node.Op("reduce_max", {flat}, all));
  LEMMA_ASSIGN_OR_RETURN(high, node.Op("max", {high, none}));
  LEMMA_ASSIGN_OR_RETURN(Value low, node.Op("reduce_min", {flat}, all));
  LEMMA_ASSIGN_OR_RETURN(low, node.Op("min", {low, none}));
  LEMMA_ASSIGN_OR_RETURN(Value range, node.Op("sub", {high, low}));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Op("div", {range, levels}));
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Op("sub", {none, low}));
  LEMMA_ASSIGN_OR_RETURN(zero, Quantized(node, zero, scale, std::nullopt, DType::kU8));
  LEMMA_ASSIGN_OR_RETURN(Value y, Quantized(node, x, scale, zero, DType::kU8));
  return std::vector<Value>{y, scale, zero};
}

}  // namespace

std::vector<OnnxImporter> QuantizationImporters() {
  return {{"QuantizeLinear", ImportQuantizeLinear},
          {"DequantizeLinear", ImportDequantizeLinear},
          {"DynamicQuantizeLinear", ImportDynamicQuantizeLinear}};
}

}  // namespace lemma::ops
