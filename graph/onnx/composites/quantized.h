// Arithmetic of quantized tensors, for the importers of quantized operators (docs/quantization.md).
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_QUANTIZED_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_QUANTIZED_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {

// Unimplemented unless `dtype` is an integer type of at most 16 bits.
absl::Status CheckNarrow(OnnxImport& node, DType dtype);

// saturate(round(x) + zero) as `to`, an integer type of at most 16 bits. Ties are rounded to even.
// An empty `zero` stands for 0.
Value RoundToSteps(OnnxBuild& b, const Value& x, const Value& zero, DType to);
// RoundToSteps(b, x / scale, zero, to).
Value Quantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero, DType to);
// (x - zero) * scale in f32, or in f64 if the scale is f64; an empty `zero` stands for 0. Integers
// are subtracted exactly.
Value Dequantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero);
// x - zero as `dtype`, which must represent every such difference; an empty `zero` stands for 0.
Value Centered(OnnxBuild& b, const Value& x, const Value& zero, DType dtype);

// The results of DynamicQuantizeLinear: x in u8, the scale and the zero point, where
// scale = (max(x, 0) - min(x, 0)) / 255, zero = saturate(round(-min(x, 0) / scale)).
std::vector<Value> QuantizeDynamically(OnnxBuild& b, const Value& x);

// The type in which to sum `terms` products (a - a_zero) * (b - b_zero): f32 if
// no sum exceeds 2^24 in magnitude, since every sum is then exact, and f32 has
// fast kernels. Otherwise, or if `terms` is symbolic, i32, which wraps around.
// An empty zero point stands for 0. `a` and `b` must be 8 bits wide.
DType ProductType(const Value& a, const Value& a_zero, const Value& b, const Value& b_zero,
                  int64_t terms);

// The functions below are defined in quantized_products.cc.

// A matrix of integers, or a batch of matrices, with its scale and zero point. The scale and the
// zero point must broadcast over x: each is a scalar, or has one number for each row of a left
// factor (shape [rows, 1]) or for each column of a right factor. An empty `zero` stands for 0.
struct QuantizedMatrix {
  Value x, scale, zero;
};
// A scale or zero point for QuantizedMatrix: `v` as a scalar if it has one element, otherwise `v`.
Value ScalarOrPerColumn(OnnxBuild& b, const Value& v);
// Unimplemented unless the integers of both factors are u8 or i8 and have at least two dimensions.
absl::Status CheckFactors(OnnxImport& node, const QuantizedMatrix& left,
                          const QuantizedMatrix& right);
// sum(k) (a - a_zero) (b - b_zero), where a is left.x, b is right.x, and a_zero and b_zero are
// their zero points. Computed in the type that ProductType gives, f32 or i32; exact if 32 bits hold
// the sum.
Value IntegerProduct(OnnxBuild& b, const QuantizedMatrix& left, const QuantizedMatrix& right);
// IntegerProduct(b, left, right) * (left.scale * right.scale) + bias. The scaled product is
// computed in f32, and converted to the type of left.scale before the bias is added. An empty
// `bias` stands for 0.
Value FloatProduct(OnnxBuild& b, const QuantizedMatrix& left, const QuantizedMatrix& right,
                   const Value& bias);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_QUANTIZED_H_
