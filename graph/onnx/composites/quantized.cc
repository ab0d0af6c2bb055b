// Quantization as arithmetic on the numbers that the integers represent.
#include "graph/onnx/composites/quantized.h"

#include <cmath>
#include <numeric>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// Repeats each element of v `size` times along `axis`, which then is cut off to x's length.
absl::StatusOr<Value> RepeatedBlocks(OnnxImport& node, const Value& v, int64_t axis, int64_t size,
                                     const Shape& shape) {
  const int64_t length = shape[static_cast<size_t>(axis)];
  if (IsSymbolic(length)) return node.Unsupported("blocks along an axis of symbolic size");
  Shape expected = shape;
  expected[static_cast<size_t>(axis)] = (length + size - 1) / size;
  if (v.shape() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("scales ", ToString(v.shape()), " for blocks of ", size, " along axis ", axis,
                     " of ", ToString(shape), " must be ", ToString(expected)));
  }
  if (length > (int64_t{1} << 26)) return node.Unsupported("axes this long");
  std::vector<int64_t> block;
  for (int64_t i = 0; i < length; ++i) block.push_back(i / size);
  return node.Op("gather", {v, node.Constant(Tensor::Ints(block))}, {{"axis", axis}});
}

// Where the scales and zero points of a tensor apply.
struct Blocks {
  Shape shape;
  int64_t axis, size;  // 0: scales are a scalar or a vector along the axis
};

absl::StatusOr<Blocks> ReadBlocks(OnnxImport& node, const Value& x) {
  Blocks blocks;
  blocks.shape = x.shape();
  LEMMA_ASSIGN_OR_RETURN(blocks.axis, node.Int("axis", 1));
  LEMMA_ASSIGN_OR_RETURN(blocks.size, node.Int("block_size", 0));
  if (blocks.size < 0) return absl::InvalidArgumentError("block_size must not be negative");
  return blocks;
}

// A scale or zero point, so that it broadcasts over the tensor.
absl::StatusOr<Value> AlongAxis(OnnxImport& node, const Value& v, const Blocks& blocks) {
  const int rank = static_cast<int>(blocks.shape.size());
  if (v.type().rank() == 0) return v;
  if (v.type().num_elements() == 1) return Reshape(node, v, {});
  LEMMA_ASSIGN_OR_RETURN(const int64_t axis, NormalizeOnnxAxis(blocks.axis, rank));
  if (blocks.size > 0) return RepeatedBlocks(node, v, axis, blocks.size, blocks.shape);
  if (v.type().rank() != 1)
    return node.Unsupported("scales that are no vector, without block_size");
  Shape shape(rank, 1);
  shape[axis] = v.shape()[0];
  return Reshape(node, v, shape);
}

// The element type that the attribute names by ONNX's number; nullopt if it names none.
absl::StatusOr<std::optional<DType>> TypeAttr(OnnxImport& node, const char* name) {
  LEMMA_ASSIGN_OR_RETURN(const int64_t number, node.Int(name, 0));
  if (number == 0) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(const DType dtype, FromOnnxNumber(node, number));
  return dtype;
}

// The lowest and highest number of a narrow integer type.
std::pair<double, double> RangeOf(DType dtype) {
  return {static_cast<double>(LeastInteger(dtype)), static_cast<double>(LargestInteger(dtype))};
}

// The largest |x - zero|.
int64_t LargestStep(const Value& x, const Value& zero) {
  return zero || IsUnsigned(x.dtype()) ? 255 : 128;
}

}  // namespace

absl::Status CheckNarrow(OnnxImport& node, DType dtype) {
  if (IsInteger(dtype) && SizeOf(dtype) <= 2) return absl::OkStatus();
  return node.Unsupported(absl::StrCat("quantized type ", Name(dtype)));
}

// The zero point is added in f32 at least: f16 does not hold all integers of 16 bits.
Value RoundToSteps(OnnxBuild& b, const Value& x, const Value& zero, DType to) {
  Value rounded = b.Op("round", {x});
  if (!rounded) return rounded;
  if (IsHalfFloat(rounded.dtype())) rounded = b.Cast(rounded, DType::kF32);
  if (zero && rounded) rounded = b.Add(rounded, b.Cast(zero, rounded.dtype()));
  const auto [low, high] = RangeOf(to);
  return b.Cast(b.Op("clip", {rounded}, {{"min", low}, {"max", high}}), to);
}

Value Quantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero, DType to) {
  return RoundToSteps(b, b.Div(x, scale), zero, to);
}

Value Centered(OnnxBuild& b, const Value& x, const Value& zero, DType dtype) {
  const bool wide = x && SizeOf(x.dtype()) > 2;  // a float may not hold it
  if (zero && wide && IsFloat(dtype)) return b.Cast(b.Sub(x, zero), dtype);
  Value number = b.Cast(x, dtype);
  return zero ? b.Sub(number, b.Cast(zero, dtype)) : number;
}

Value Dequantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero) {
  const DType dtype = scale && scale.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  return b.Mul(Centered(b, x, zero, dtype), b.Cast(scale, dtype));
}

std::vector<Value> QuantizeDynamically(OnnxBuild& b, const Value& x) {
  if (!x) return {};
  std::vector<int64_t> axes(x.type().rank());
  std::iota(axes.begin(), axes.end(), 0);
  auto extreme = [&](const char* reduce, const char* with_zero) {
    Value e = axes.empty() ? x : b.Op(reduce, {x}, {{"axes", axes}, {"keepdims", int64_t{0}}});
    return b.Op(with_zero, {e, b.Scalar(x.dtype(), 0)});
  };
  Value low = extreme("reduce_min", "min");
  Value range = b.Sub(extreme("reduce_max", "max"), low);
  Value scale = b.Div(range, b.Scalar(x.dtype(), 255));
  Value zero = Quantize(b, b.Op("neg", {low}), scale, Value(), DType::kU8);
  return {Quantize(b, x, scale, zero, DType::kU8), scale, zero};
}

DType ProductType(const Value& a, const Value& a_zero, const Value& b, const Value& b_zero,
                  int64_t terms) {
  const int64_t product = LargestStep(a, a_zero) * LargestStep(b, b_zero);
  return terms <= (int64_t{1} << 24) / product ? DType::kF32 : DType::kI32;
}

namespace {

// A float has no steps to round to before the zero point is added, which is 0 in general.
Value QuantizeToFloat(OnnxImport& node, OnnxBuild& b, Value x, const Value& zero, DType to,
                      bool saturate) {
  if (zero && x) x = b.Add(x, b.Cast(zero, x.dtype()));
  SmallCast how;
  how.saturate = saturate;
  return x ? b.Take(CastAsOnnx(node, x, to, how)) : x;
}

// The quotient is taken in the scale's type, or in the type that the attribute precision names.
Values ImportQuantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(node, x));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<DType> precision, TypeAttr(node, "precision"));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<DType> output, TypeAttr(node, "output_dtype"));
  LEMMA_ASSIGN_OR_RETURN(const int64_t saturate, node.Int("saturate", 1));
  DType to = output.value_or(DType::kU8);
  Value zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(zero, node.Input(2));
    if (output && *output != zero.dtype()) {
      return absl::InvalidArgumentError("output_dtype is not the zero point's element type");
    }
    to = zero.dtype();
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, blocks));
  }
  if (!IsSmallFloat(to)) LEMMA_RETURN_IF_ERROR(CheckNarrow(node, to));
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, blocks));
  OnnxBuild b(node);
  const DType of_scale = IsSmallFloat(scale.dtype()) ? DType::kF32 : scale.dtype();
  const DType number = precision.value_or(of_scale);
  const Value divided = b.Cast(x, number), by = b.Cast(scale, number);
  Value y = IsSmallFloat(to) ? QuantizeToFloat(node, b, b.Div(divided, by), zero, to, saturate != 0)
                             : Quantize(b, divided, by, zero, to);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// Operator set 23 can name another result than the scale's type.
Values ImportDequantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(node, x));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<DType> output, TypeAttr(node, "output_dtype"));
  Value zero;
  if (node.HasInput(2)) {
    LEMMA_ASSIGN_OR_RETURN(zero, node.Input(2));
    LEMMA_ASSIGN_OR_RETURN(zero, AlongAxis(node, zero, blocks));
  }
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, blocks));
  OnnxBuild b(node);
  const DType to = output.value_or(scale.dtype());
  if (!IsFloat(to)) return node.Unsupported(absl::StrCat("numbers of type ", Name(to)));
  Value y = b.Cast(Dequantize(b, x, scale, zero), to);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportDynamicQuantize(OnnxImport& node) {
  OnnxBuild b(node);
  std::vector<Value> outputs = QuantizeDynamically(b, b.Input(0));
  if (!b.status().ok()) return b.status();
  return outputs;
}

}  // namespace

std::vector<OnnxImporter> QuantizedComposites() {
  return {{"QuantizeLinear", ImportQuantize},
          {"DequantizeLinear", ImportDequantize},
          {"DynamicQuantizeLinear", ImportDynamicQuantize},
          {"com.microsoft.QuantizeLinear", ImportQuantize},
          {"com.microsoft.DequantizeLinear", ImportDequantize}};
}

}  // namespace lemma::ops
