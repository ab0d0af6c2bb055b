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

// saturate(round(x) + zero) as `to`; `zero` may be empty.
Value RoundToSteps(OnnxBuild& b, const Value& x, const Value& zero, DType to);
// RoundToSteps(x / scale).
Value Quantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero, DType to);
// (x - zero) * scale in f32; `zero` may be empty. Integers are subtracted exactly.
Value Dequantize(OnnxBuild& b, const Value& x, const Value& scale, const Value& zero);
// (x - zero) as numbers of `dtype`, which holds all of them; `zero` may be empty.
Value Centered(OnnxBuild& b, const Value& x, const Value& zero, DType dtype);

// x in steps of u8, the scale and the zero point, as DynamicQuantizeLinear has them:
// scale = (max(x, 0) - min(x, 0)) / 255, zero = saturate(round(-min(x, 0) / scale)).
std::vector<Value> QuantizeDynamically(OnnxBuild& b, const Value& x);

// The type in which sums of `terms` products (a - a0) * (b - b0) are exact, or wrap as 32 bits do:
// f32 if no sum exceeds 2^24, for which there are fast kernels, else i32. `a_zero` and `b_zero` may
// be empty. `a` and `b` are 8 bits wide.
DType ProductType(const Value& a, const Value& a_zero, const Value& b, const Value& b_zero,
                  int64_t terms);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_QUANTIZED_H_
