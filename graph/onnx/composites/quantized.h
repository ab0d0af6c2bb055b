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

// Unimplemented unless `dtype` is an integer type of 8 or 16 bits.
absl::Status CheckNarrow(OnnxImport& node, DType dtype);

// saturate(round(x) + zero) of type `to`; an empty `zero` stands for 0. round: ties to even.
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

// The type in which to sum `terms` products (a - a_zero) * (b - b_zero): f32, which has fast
// kernels, if no sum exceeds 2^24, so that every sum is exact; else i32, which wraps around. An
// empty zero point stands for 0. `a` and `b` are 8 bits wide.
DType ProductType(const Value& a, const Value& a_zero, const Value& b, const Value& b_zero,
                  int64_t terms);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_QUANTIZED_H_
