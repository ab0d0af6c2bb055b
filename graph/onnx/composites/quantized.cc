// Quantization as arithmetic on the numbers that the integers represent.
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
  const double values = std::ldexp(1.0, static_cast<int>(8 * SizeOf(dtype)));
  if (Name(dtype)[0] == 'u') return {0, values - 1};
  return {-values / 2, values / 2 - 1};
}

// saturate(round(x / scale) + zero) as `to`.
Value Quantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero, DType to) {
  Value rounded = b.Op("round", {b.Div(x, scale)});
  if (zero && rounded) rounded = b.Add(rounded, b.Cast(zero, rounded.dtype()));
  const auto [low, high] = RangeOf(to);
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

// The quotient is taken in the scale's type, or in the type that the attribute precision names.
Values ImportQuantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(const Blocks blocks, ReadBlocks(node, x));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<DType> precision, TypeAttr(node, "precision"));
  LEMMA_ASSIGN_OR_RETURN(const std::optional<DType> output, TypeAttr(node, "output_dtype"));
  LEMMA_RETURN_IF_ERROR(node.Int("saturate", 1).status());  // of floats; integers always do
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
  LEMMA_RETURN_IF_ERROR(CheckNarrow(node, to));
  LEMMA_ASSIGN_OR_RETURN(scale, AlongAxis(node, scale, blocks));
  OnnxBuild b(node);
  const DType number = precision.value_or(scale.dtype());
  Value y = Quantize(b, b.Cast(x, number), b.Cast(scale, number), zero, to);
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
  Value y = b.Mul(Centered(b, x, zero, scale.dtype()), scale);
  if (output) y = b.Cast(y, *output);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// scale = (max(x, 0) - min(x, 0)) / 255, zero = saturate(round(-min(x, 0) / scale)).
Values ImportDynamicQuantize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  OnnxBuild b(node);
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
  Value y = Quantize(b, x, scale, zero, DType::kU8);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y, scale, zero};
}

// y = quantize(sum(k) (a - a0) (b - b0) * (a_scale b_scale / y_scale)).
Values ImportQuantizedMatMul(OnnxImport& node) {
  OnnxBuild b(node);
  std::vector<Value> in(8);
  for (int i = 0; i < 8; ++i) in[i] = b.Input(i);
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
