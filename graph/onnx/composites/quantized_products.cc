// Products of quantized matrices: sums of integers, then one rounding.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx/composites/quantized.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// Input i, or an empty value if it is absent.
Value Optional(OnnxImport& node, OnnxBuild& b, int i) {
  return node.HasInput(i) ? b.Input(i) : Value();
}

// A scale or zero point with one number, or one for each row of a matrix.
Value PerRow(OnnxBuild& b, const Value& v) {
  const Value whole = ScalarOrPerColumn(b, v);
  return whole && whole.type().rank() == 1 ? b.Reshape(whole, {whole.shape()[0], 1}) : whole;
}

// y = quantize(sum(k) (a - a0) (b - b0) * (a_scale b_scale / y_scale)).
Values ImportQuantizedMatMul(OnnxImport& node) {
  OnnxBuild b(node);
  const QuantizedMatrix left = {b.Input(0), PerRow(b, b.Input(1)), PerRow(b, b.Input(2))};
  const QuantizedMatrix right = {b.Input(3), ScalarOrPerColumn(b, b.Input(4)),
                                 ScalarOrPerColumn(b, b.Input(5))};
  const Value y_scale = PerRow(b, b.Input(6)), y_zero = PerRow(b, b.Input(7));
  if (!b.status().ok()) return b.status();
  LEMMA_RETURN_IF_ERROR(CheckFactors(node, left, right));
  LEMMA_RETURN_IF_ERROR(CheckNarrow(node, y_zero.dtype()));
  const Value sum = b.Cast(IntegerProduct(b, left, right), DType::kF32);
  const Value scale = b.Div(b.Mul(left.scale, right.scale), y_scale);
  const Value y = RoundToSteps(b, b.Mul(sum, b.Cast(scale, DType::kF32)), y_zero, y_zero.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// sum(k) (a - a0) (b - b0) * (alpha a_scale b_scale / y_scale), with a bias of integers in the sum;
// rounded to steps if there is a y_scale.
Values ImportQuantizedGemm(OnnxImport& node) {
  OnnxBuild b(node);
  auto factor = [&](int i, const char* transposed) -> absl::StatusOr<QuantizedMatrix> {
    QuantizedMatrix f = {b.Input(i), ScalarOrPerColumn(b, b.Input(i + 1)),
                         ScalarOrPerColumn(b, Optional(node, b, i + 2))};
    LEMMA_ASSIGN_OR_RETURN(const int64_t transpose, node.Int(transposed, 0));
    if (!b.status().ok()) return b.status();
    if (f.x.type().rank() != 2) return absl::InvalidArgumentError("operands must be matrices");
    if (transpose != 0) f.x = b.Transpose(f.x, {1, 0});
    return f;
  };
  LEMMA_ASSIGN_OR_RETURN(const QuantizedMatrix left, factor(0, "transA"));
  LEMMA_ASSIGN_OR_RETURN(const QuantizedMatrix right, factor(3, "transB"));
  LEMMA_ASSIGN_OR_RETURN(const double alpha, node.Float("alpha", 1));
  LEMMA_RETURN_IF_ERROR(CheckFactors(node, left, right));
  Value sum = IntegerProduct(b, left, right);
  if (node.HasInput(6)) sum = b.Add(b.Cast(sum, DType::kI32), b.Input(6));
  sum = b.Cast(sum, DType::kF32);
  Value scale = b.Mul(left.scale, right.scale);
  if (alpha != 1) scale = b.Mul(b.Mul(left.scale, alpha), right.scale);
  Value y;
  if (node.HasInput(7)) {
    scale = b.Div(scale, ScalarOrPerColumn(b, b.Input(7)));
    const Value zero = ScalarOrPerColumn(b, Optional(node, b, 8));
    y = RoundToSteps(b, b.Mul(sum, scale), zero, zero ? zero.dtype() : left.x.dtype());
  } else {
    y = b.Mul(sum, scale);
  }
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportToFloat(OnnxImport& node) {
  OnnxBuild b(node);
  const QuantizedMatrix left = {b.Input(0), PerRow(b, b.Input(2)), PerRow(b, Optional(node, b, 4))};
  const QuantizedMatrix right = {b.Input(1), ScalarOrPerColumn(b, b.Input(3)),
                                 ScalarOrPerColumn(b, Optional(node, b, 5))};
  const Value bias = Optional(node, b, 6);
  if (!b.status().ok()) return b.status();
  LEMMA_RETURN_IF_ERROR(CheckFactors(node, left, right));
  const Value y = FloatProduct(b, left, right, bias);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// The same with a quantized by DynamicQuantizeLinear.
Values ImportDynamicMatMul(OnnxImport& node) {
  OnnxBuild b(node);
  const std::vector<Value> a = QuantizeDynamically(b, b.Input(0));
  if (!b.status().ok()) return b.status();
  const QuantizedMatrix left = {a[0], a[1], a[2]};
  const QuantizedMatrix right = {b.Input(1), ScalarOrPerColumn(b, b.Input(2)),
                                 ScalarOrPerColumn(b, Optional(node, b, 3))};
  const Value bias = Optional(node, b, 4);
  if (!b.status().ok()) return b.status();
  LEMMA_RETURN_IF_ERROR(CheckFactors(node, left, right));
  const Value y = FloatProduct(b, left, right, bias);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

// The numbers of `bits` bits in bytes, the lowest bits first, as i32 along the last axis.
Value Unpacked(OnnxBuild& b, const Value& bytes, int64_t bits) {
  if (!b.status().ok()) return {};
  Shape shape = bytes.shape();
  shape.push_back(1);
  const Value whole = b.Reshape(b.Cast(bytes, DType::kI32), shape);
  std::vector<Value> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    const Value rest = b.Div(whole, b.Scalar(DType::kI32, static_cast<double>(1 << shift)));
    parts.push_back(b.Op("mod", {rest, b.Scalar(DType::kI32, static_cast<double>(1 << bits))}));
  }
  const Value all = b.Concat(std::move(parts), static_cast<int64_t>(shape.size()) - 1);
  shape.pop_back();
  shape.back() *= 8 / bits;
  return b.Reshape(all, shape);
}

// The first `length` elements along the last axis.
Value Cut(OnnxBuild& b, const Value& x, int64_t length) {
  if (!x || x.shape().back() == length) return x;
  const int64_t rank = x.type().rank();
  return b.Op(
      "split", {x},
      {{"axis", rank - 1}, {"sizes", std::vector<int64_t>{length, x.shape().back() - length}}});
}

// y = a * w^T + bias, w[n,k] = (q[n,k] - zero[n,k div size]) * scale[n,k div size]. A zero point
// that is absent is 2^(bits - 1).
Values ImportMatMulBits(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(const int64_t depth, node.Int("K"));
  LEMMA_ASSIGN_OR_RETURN(const int64_t columns, node.Int("N"));
  LEMMA_ASSIGN_OR_RETURN(const int64_t bits, node.Int("bits", 4));
  LEMMA_ASSIGN_OR_RETURN(const int64_t size, node.Int("block_size"));
  LEMMA_RETURN_IF_ERROR(node.Int("accuracy_level", 0).status());  // how an engine may round
  if (bits != 2 && bits != 4 && bits != 8) return node.Unsupported("bits other than 2, 4 and 8");
  if (depth < 1 || columns < 1 || size < 16) {
    return absl::InvalidArgumentError("K, N or block_size is too small");
  }
  if (node.HasInput(4)) return node.Unsupported("g_idx");
  const Value a = b.Input(0), packed = b.Input(1);
  const int64_t blocks = (depth + size - 1) / size;
  if (!b.status().ok()) return b.status();
  if (packed.dtype() != DType::kU8 ||
      packed.type().num_elements() != columns * blocks * size * bits / 8) {
    return absl::InvalidArgumentError(absl::StrCat("B ", ToString(packed.shape()), " must be u8[",
                                                   columns, ",", blocks, ",", size * bits / 8,
                                                   "]"));
  }
  const Value bytes = b.Reshape(packed, {columns, blocks, size * bits / 8});
  Value w = b.Cast(Unpacked(b, bytes, bits), a.dtype());
  const Shape each = {columns, blocks, 1};
  if (node.HasInput(3)) {
    Value zero = b.Input(3);
    if (zero && zero.dtype() == DType::kU8) {
      const int64_t row = (blocks * bits + 7) / 8;
      zero = Cut(b, Unpacked(b, b.Reshape(zero, {columns, row}), bits), blocks);
    }
    w = b.Sub(w, b.Reshape(b.Cast(zero, a.dtype()), each));
  } else {
    w = b.Sub(w, b.Scalar(a.dtype(), static_cast<double>(1 << (bits - 1))));
  }
  w = b.Mul(w, b.Reshape(b.Cast(b.Input(2), a.dtype()), each));
  w = Cut(b, b.Reshape(w, {columns, blocks * size}), depth);
  Value y = b.Op("matmul", {a, b.Transpose(w, {1, 0})});
  if (node.HasInput(5)) y = b.Add(y, b.Input(5));
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

Value ScalarOrPerColumn(OnnxBuild& b, const Value& v) {
  return v && v.type().num_elements() == 1 ? b.Reshape(v, {}) : v;
}

absl::Status CheckFactors(OnnxImport& node, const QuantizedMatrix& left,
                          const QuantizedMatrix& right) {
  for (const QuantizedMatrix* factor : {&left, &right}) {
    const DType dtype = factor->x.dtype();
    if (dtype != DType::kU8 && dtype != DType::kI8) {
      return node.Unsupported(absl::StrCat("a product of ", Name(dtype)));
    }
    if (factor->x.type().rank() < 2) return node.Unsupported("a product of a vector");
  }
  return absl::OkStatus();
}

Value IntegerProduct(OnnxBuild& b, const QuantizedMatrix& left, const QuantizedMatrix& right) {
  if (!b.status().ok()) return {};
  const int64_t terms = left.x.shape().back();
  const DType sum = ProductType(left.x, left.zero, right.x, right.zero, terms);
  return b.Op("matmul",
              {Centered(b, left.x, left.zero, sum), Centered(b, right.x, right.zero, sum)});
}

Value FloatProduct(OnnxBuild& b, const QuantizedMatrix& left, const QuantizedMatrix& right,
                   const Value& bias) {
  const Value sum = b.Cast(IntegerProduct(b, left, right), DType::kF32);
  Value y = b.Mul(sum, b.Cast(b.Mul(left.scale, right.scale), DType::kF32));
  if (left.scale && y) y = b.Cast(y, left.scale.dtype());
  return bias ? b.Add(y, bias) : y;
}

std::vector<OnnxImporter> QuantizedProducts() {
  return {{"QLinearMatMul", ImportQuantizedMatMul},
          {"com.microsoft.QGemm", ImportQuantizedGemm},
          {"com.microsoft.MatMulIntegerToFloat", ImportToFloat},
          {"com.microsoft.DynamicQuantizeMatMul", ImportDynamicMatMul},
          {"com.microsoft.MatMulNBits", ImportMatMulBits}};
}

}  // namespace lemma::ops
