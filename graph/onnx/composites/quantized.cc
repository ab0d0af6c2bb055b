// Quantization as arithmetic on the numbers that the integers represent.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/dtype.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// The element-wise scales or zero points of x, from one for each block of `block` positions along
// `axis`. The last block may be cut.
absl::StatusOr<Value> OfBlocks(OnnxImport& node, const Value& v, int64_t axis, int64_t block,
                               const Shape& x) {
  const auto at = static_cast<std::ptrdiff_t>(axis);
  Shape expected = x;
  expected[at] = (x[at] + block - 1) / block;
  if (v.shape() != expected) {
    return absl::InvalidArgumentError(absl::StrCat("scales ", ToString(v.shape()), " for ",
                                                   ToString(x), " in blocks of ", block));
  }
  OnnxBuild b(node);
  Shape apart = expected, repeated = expected, joined = expected;
  apart.insert(apart.begin() + at + 1, 1);
  repeated.insert(repeated.begin() + at + 1, block);
  joined[at] *= block;
  Value y = b.Op("expand", {b.Reshape(v, apart)}, {{"shape", repeated}});
  y = b.Reshape(y, joined);
  if (joined != x) {
    y = b.Op("slice", {y}, {{"starts", std::vector<int64_t>(x.size(), 0)}, {"sizes", x}});
  }
  if (!b.status().ok()) return b.status();
  return y;
}

// Scales or zero points as a tensor that broadcasts to x: one for all, one for each position along
// `axis`, or one for each block of `block` positions (0: no blocks).
absl::StatusOr<Value> AlongAxis(OnnxImport& node, const Value& v, const Shape& x) {
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 1));
  LEMMA_ASSIGN_OR_RETURN(int64_t block, node.Int("block_size", 0));
  if (v.type().rank() == 0) return v;
  if (block < 0) return absl::InvalidArgumentError(absl::StrCat("block_size ", block));
  if (v.type().num_elements() == 1) return Reshape(node, v, {});
  const int rank = static_cast<int>(x.size());
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  if (block > 0) return OfBlocks(node, v, axis, block, x);
  if (v.type().rank() != 1) return node.Unsupported("scales that are no vector");
  Shape shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(axis)] = v.shape()[0];
  return Reshape(node, v, shape);
}

// The element type that an attribute names by ONNX's number; 0 stands for `fallback`.
absl::StatusOr<DType> TypeOr(OnnxImport& node, const char* name, DType fallback) {
  LEMMA_ASSIGN_OR_RETURN(int64_t number, node.Int(name, 0));
  if (number == 0) return fallback;
  return FromOnnxNumber(node, number);
}

// f16 and bf16 have too few digits for sums with integers.
DType WideFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype;
}

// saturate(round(x / scale) + zero) as `to`, an integer of at most 16 bits.
Value Quantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero, DType to) {
  Value rounded = b.Op("round", {b.Div(x, scale)});
  if (rounded) rounded = b.Cast(rounded, WideFloat(rounded.dtype()));
  if (zero && rounded) rounded = b.Add(rounded, b.Cast(zero, rounded.dtype()));
  const double end = std::ldexp(1.0, 8 * static_cast<int>(SizeOf(to)) - (IsUnsigned(to) ? 0 : 1));
  const double low = IsUnsigned(to) ? 0 : -end, high = end - 1;
  return b.Cast(b.Op("clip", {rounded}, {{"min", low}, {"max", high}}), to);
}

// (x - zero) as numbers of `dtype`.
Value Centered(OnnxBuild& b, const Value& x, const Value& zero, DType dtype) {
  Value number = b.Cast(x, dtype);
  return zero ? b.Sub(number, b.Cast(zero, dtype)) : number;
}

absl::Status CheckNarrow(OnnxImport& node, DType dtype) {
  if (IsInteger(dtype) && SizeOf(dtype) <= 2) return absl::OkStatus();
  return node.Unsupported(absl::StrCat("quantized type ", Name(dtype)));
}

Values ImportQuantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(DType to, TypeOr(node, "output_dtype", DType::kU8));
  LEMMA_RETURN_IF_ERROR(node.Int("saturate", 1).status());  // for types that are refused
  Value zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(zero, node.Input(2));
    to = zero.dtype();
    LEMMA_RETURN_IF_ERROR(CheckNarrow(node, to));
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, x.shape()));
  }
  LEMMA_RETURN_IF_ERROR(CheckNarrow(node, to));
  LEMMA_ASSIGN_OR_RETURN(DType precision, TypeOr(node, "precision", scale.dtype()));
  if (!IsFloat(precision) || !IsFloat(scale.dtype())) {
    return node.Unsupported("scales that are no floats");
  }
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, x.shape()));
  OnnxBuild b(node);
  Value y = Quantize(b, b.Cast(x, precision), b.Cast(scale, precision), zero, to);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// (x - zero) * scale, rounded to the result's type at the end.
Values ImportDequantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(DType to, TypeOr(node, "output_dtype", scale.dtype()));
  if (!IsFloat(to) || !IsFloat(scale.dtype())) return node.Unsupported("scales that are no floats");
  Value zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(zero, node.Input(2));
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, x.shape()));
  }
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, x.shape()));
  OnnxBuild b(node);
  const DType wide = WideFloat(scale.dtype());
  Value y = b.Cast(b.Mul(Centered(b, x, zero, wide), b.Cast(scale, wide)), to);
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
