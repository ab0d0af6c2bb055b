// Quantization as arithmetic on the numbers that the integers represent.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// One scale or zero point per position along `axis` of a tensor of rank `rank`; a scalar stays.
absl::StatusOr<Value> AlongAxis(OnnxImport& node, const Value& v, int64_t axis, int rank) {
  if (v.type().rank() == 0) return v;
  if (v.type().num_elements() == 1) return Reshape(node, v, {});
  if (v.type().rank() != 1) return node.Unsupported("scales that are no vector");
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  Shape shape(rank, 1);
  shape[axis] = v.shape()[0];
  return Reshape(node, v, shape);
}

// saturate(round(x / scale) + zero) as `to`.
Value Quantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero, DType to) {
  Value rounded = b.Op("round", {b.Div(x, scale)});
  if (zero && rounded) rounded = b.Add(rounded, b.Cast(zero, rounded.dtype()));
  const double low = to == DType::kI8 ? -128 : 0, high = to == DType::kI8 ? 127 : 255;
  return b.Cast(b.Op("clip", {rounded}, {{"min", low}, {"max", high}}), to);
}

// (x - zero) as numbers of `dtype`.
Value Centered(OnnxBuild& b, const Value& x, const Value& zero, DType dtype) {
  Value number = b.Cast(x, dtype);
  return zero ? b.Sub(number, b.Cast(zero, dtype)) : number;
}

absl::Status CheckNarrow(OnnxImport& node, DType dtype) {
  if (dtype == DType::kI8 || dtype == DType::kU8) return absl::OkStatus();
  return node.Unsupported(absl::StrCat("quantized type ", Name(dtype)));
}

Values ImportQuantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  const int rank = x.type().rank();
  DType to = DType::kU8;
  Value zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(zero, node.Input(2));
    to = zero.dtype();
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, axis, rank));
  }
  LEMMA_RETURN_IF_ERROR(CheckNarrow(node, to));
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, axis, rank));
  OnnxBuild b(node);
  Value y = Quantize(b, b.Cast(x, scale.dtype()), scale, zero, to);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportDequantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  Value zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(zero, node.Input(2));
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, axis, x.type().rank()));
  }
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, axis, x.type().rank()));
  OnnxBuild b(node);
  Value y = b.Mul(Centered(b, x, zero, scale.dtype()), scale);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// scale = (max(x, 0) - min(x, 0)) / 255, zero = saturate(round(-min(x, 0) / scale)).
Values ImportDynamicQuantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  OnnxBuild b(node);
  std::vector<int64_t> axes;
  for (int i = 0; i < x.type().rank(); ++i) axes.push_back(i);
  auto extreme = [&](const char* reduce, const char* with_zero) {
    Value e = axes.empty() ? x : b.Op(reduce, {x}, {{"axes", axes}, {"keepdims", int64_t{0}}});
    return b.Op(with_zero, {e, b.Scalar(x.dtype(), 0)});
  };
  Value low = extreme("reduce_min", "min");
  Value range = b.Sub(extreme("reduce_max", "max"), low);
  Value scale = b.Div(range, b.Scalar(x.dtype(), 255));
  Value zero = Quantize(b, b.Op("neg", {low}), scale, Value(), DType::kU8);
  Value y = Quantize(b, x, scale, zero, DType::kU8);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y, scale, zero};
}

// y = quantize(sum(k) (a - a0) (b - b0) * (a_scale b_scale / y_scale)).
Values ImportQuantizedMatMul(OnnxImport& node) {
  OnnxBuild b(node);
  std::vector<Value> in;
  for (int i = 0; i < 8; ++i) in.push_back(b.Input(i));
  if (!b.status().ok()) return b.status();
  for (int i : {1, 2, 4, 5, 6, 7}) {
    if (in[i].type().num_elements() != 1) return node.Unsupported("a scale for each row or column");
    in[i] = b.Reshape(in[i], {});
  }
  LEMMA_RETURN_IF_ERROR(CheckNarrow(node, in[7].dtype()));
  const DType number = in[1].dtype();
  Value sum =
      b.Op("matmul", {Centered(b, in[0], in[2], number), Centered(b, in[3], in[5], number)});
  Value scale = b.Div(in[6], b.Mul(in[1], in[4]));
  Value y = Quantize(b, sum, scale, in[7], in[7].dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> QuantizedComposites() {
  return {{"QuantizeLinear", ImportQuantize},
          {"DequantizeLinear", ImportDequantize},
          {"DynamicQuantizeLinear", ImportDynamicQuantize},
          {"QLinearMatMul", ImportQuantizedMatMul}};
}

}  // namespace lemma::ops
