// Element-wise operators, pools and moves of quantized tensors, of com.microsoft. Each is its float
// operator between DequantizeLinear and QuantizeLinear, unless it says more.
#include <utility>

#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/pool.h"
#include "graph/onnx/composites/quantized.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// A tensor, its scale, and its zero point or an empty value.
struct Quantized {
  Value x, scale, zero;
};

// A number per tensor.
Value Number(OnnxImport& node, OnnxBuild& b, int i) {
  return node.HasInput(i) ? b.Reshape(b.Input(i), {}) : Value();
}

Quantized Read(OnnxImport& node, OnnxBuild& b, int i) {
  return {b.Input(i), Number(node, b, i + 1), Number(node, b, i + 2)};
}

Value Dequantized(OnnxBuild& b, const Quantized& q) { return Dequantize(b, q.x, q.scale, q.zero); }

// Quantizes with the scale in input i and the zero point behind it; `like`, if that is absent.
Values Result(OnnxImport& node, OnnxBuild& b, const Value& y, int i, const Value& like) {
  const Value zero = Number(node, b, i + 1);
  const Value result = Quantize(b, y, Number(node, b, i), zero, zero ? zero.dtype() : like.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{result};
}

// round(a * p + b * q + (c0 - (a0 * p + b0 * q))), p = a_scale / c_scale, q = b_scale / c_scale:
// what ONNX Runtime rounds, which is not what it rounds for DequantizeLinear, Add and
// QuantizeLinear.
Values ImportAdd(OnnxImport& node) {
  OnnxBuild b(node);
  const Quantized left = Read(node, b, 0), right = Read(node, b, 3);
  const Value scale = Number(node, b, 6), zero = Number(node, b, 7);
  if (!b.status().ok()) return b.status();
  const Value p = b.Div(left.scale, scale), q = b.Div(right.scale, scale);
  auto number = [&](const Value& v) {
    return v ? b.Cast(v, DType::kF32) : b.Scalar(DType::kF32, 0);
  };
  const Value fixed =
      b.Sub(number(zero), b.Add(b.Mul(p, number(left.zero)), b.Mul(q, number(right.zero))));
  const Value sum = b.Add(b.Mul(b.Cast(right.x, DType::kF32), q),
                          b.Add(b.Mul(b.Cast(left.x, DType::kF32), p), fixed));
  const Value y = RoundToSteps(b, sum, Value(), zero ? zero.dtype() : left.x.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// (a - a0) * (b - b0) is exact; it is multiplied by a_scale b_scale / c_scale.
Values ImportMul(OnnxImport& node) {
  OnnxBuild b(node);
  const Quantized left = Read(node, b, 0), right = Read(node, b, 3);
  const Value zero = Number(node, b, 7);
  if (!b.status().ok()) return b.status();
  const Value product = b.Mul(Centered(b, left.x, left.zero, DType::kF32),
                              Centered(b, right.x, right.zero, DType::kF32));
  const Value scale = b.Div(b.Mul(left.scale, right.scale), Number(node, b, 6));
  const Value y =
      RoundToSteps(b, b.Mul(product, scale), zero, zero ? zero.dtype() : left.x.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportLeakyRelu(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(const double alpha, node.Float("alpha", 0.01));
  const Quantized q = Read(node, b, 0);
  if (!b.status().ok()) return b.status();
  return Result(node, b, b.Op("leaky_relu", {Dequantized(b, q)}, {{"alpha", alpha}}), 3, q.x);
}

Values ImportSigmoid(OnnxImport& node) {
  OnnxBuild b(node);
  const Quantized q = Read(node, b, 0);
  if (!b.status().ok()) return b.status();
  return Result(node, b, b.Op("sigmoid", {Dequantized(b, q)}), 3, q.x);
}

// The sum of n steps is exact; it is multiplied by x_scale / (y_scale n).
Values ImportGlobalAveragePool(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(const int64_t last, node.Int("channels_last", 0));
  const Quantized q = Read(node, b, 0);
  const Value y_scale = Number(node, b, 3), y_zero = Number(node, b, 4);
  if (!b.status().ok()) return b.status();
  const int64_t rank = q.x.type().rank();
  if (rank < 3) return absl::InvalidArgumentError("the input must have spatial axes");
  std::vector<int64_t> axes;
  int64_t count = 1;
  for (int64_t d = last != 0 ? 1 : 2; d < rank - (last != 0 ? 1 : 0); ++d) {
    axes.push_back(d);
    count *= q.x.shape()[static_cast<size_t>(d)];
  }
  const Value sum = b.Op("reduce_sum", {Centered(b, q.x, q.zero, DType::kI32)},
                         {{"axes", axes}, {"keepdims", int64_t{1}}});
  const Value scale = b.Div(q.scale, b.Mul(y_scale, static_cast<double>(count)));
  const Value y = RoundToSteps(b, b.Mul(b.Cast(sum, DType::kF32), scale), y_zero,
                               y_zero ? y_zero.dtype() : q.x.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportQuantizedPool(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(const int64_t last, node.Int("channels_last", 0));
  const Quantized q = Read(node, b, 0);
  Value x = Dequantized(b, q);
  if (!b.status().ok()) return b.status();
  const int64_t rank = x.type().rank();
  if (rank < 3) return absl::InvalidArgumentError("the input must have spatial axes");
  std::vector<int64_t> to_front = {0, rank - 1}, to_back = {0};
  for (int64_t d = 1; d + 1 < rank; ++d) {
    to_front.push_back(d);
    to_back.push_back(d + 1);
  }
  to_back.push_back(1);
  if (last != 0) x = b.Transpose(x, to_front);
  if (!b.status().ok()) return b.status();
  LEMMA_ASSIGN_OR_RETURN(Value y, AveragePoolOf(node, x));
  if (last != 0) y = b.Transpose(y, to_back);
  return Result(node, b, y, 3, q.x);
}

// Before operator set 13, the axes from `axis` on are one axis.
Values ImportQuantizedSoftmax(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(const int64_t opset, node.Int("opset"));
  LEMMA_ASSIGN_OR_RETURN(const int64_t given, node.Int("axis", -1));
  const Quantized q = Read(node, b, 0);
  const Value x = Dequantized(b, q);
  if (!b.status().ok()) return b.status();
  const Shape& shape = x.shape();
  LEMMA_ASSIGN_OR_RETURN(const int64_t axis, NormalizeOnnxAxis(given, x.type().rank()));
  if (opset >= 13) return Result(node, b, b.Op("softmax", {x}, {{"axis", axis}}), 3, q.x);
  const auto begin = shape.begin() + axis;
  const Value rows =
      b.Reshape(x, {ProductOf(Shape(shape.begin(), begin)), ProductOf(Shape(begin, shape.end()))});
  const Value y = b.Op("softmax", {rows}, {{"axis", int64_t{1}}});
  return Result(node, b, b.Reshape(y, shape), 3, q.x);
}

Values ImportConcat(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis"));
  const Value scale = Number(node, b, 0), zero = Number(node, b, 1);
  std::vector<Value> parts;
  for (int i = 2; i < node.num_inputs(); i += 3) {
    parts.push_back(Quantize(b, Dequantized(b, Read(node, b, i)), scale, zero,
                             zero ? zero.dtype() : DType::kU8));
  }
  if (!b.status().ok()) return b.status();
  if (parts.empty()) return absl::InvalidArgumentError("there is nothing to concatenate");
  LEMMA_ASSIGN_OR_RETURN(const int64_t along, NormalizeOnnxAxis(axis, parts[0].type().rank()));
  const Value y = b.Concat(std::move(parts), along);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportWhere(OnnxImport& node) {
  OnnxBuild b(node);
  const Quantized x = Read(node, b, 1), y = Read(node, b, 4);
  const Value scale = Number(node, b, 7), zero = Number(node, b, 8);
  if (!b.status().ok()) return b.status();
  const DType to = zero ? zero.dtype() : x.x.dtype();
  const Value z = b.Op("where", {b.Input(0), Quantize(b, Dequantized(b, x), scale, zero, to),
                                 Quantize(b, Dequantized(b, y), scale, zero, to)});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{z};
}

}  // namespace

std::vector<OnnxImporter> QuantizedElementwise() {
  return {{"com.microsoft.QLinearAdd", ImportAdd},
          {"com.microsoft.QLinearMul", ImportMul},
          {"com.microsoft.QLinearLeakyRelu", ImportLeakyRelu},
          {"com.microsoft.QLinearSigmoid", ImportSigmoid},
          {"com.microsoft.QLinearGlobalAveragePool", ImportGlobalAveragePool},
          {"com.microsoft.QLinearAveragePool", ImportQuantizedPool},
          {"com.microsoft.QLinearSoftmax", ImportQuantizedSoftmax},
          {"com.microsoft.QLinearConcat", ImportConcat},
          {"com.microsoft.QLinearWhere", ImportWhere}};
}

}  // namespace lemma::ops
