// Samples images at computed positions: gathers elements and multiplies them by weights.
#ifndef LEMMA_GRAPH_ONNX_COMPOSITES_SAMPLING_H_
#define LEMMA_GRAPH_ONNX_COMPOSITES_SAMPLING_H_

#include <vector>

#include "graph/onnx/composites/build.h"

namespace lemma::ops {

// The elements along one axis that take part in samples. Each field has shape [B,P…,K]: for each of
// the B batches and each position P… of a sample, K elements. A dimension B or P… of size 1 is
// broadcast to the size that the dimension has for another axis. In the argument of SampledTerms,
// either all axes have a `weight` or none; likewise for `inside`.
struct SampledAxis {
  Value index;   // whole numbers inside the axis, of a float type
  Value weight;  // empty: all 1
  Value inside;  // false where the element counts as 0; empty: all true
};

// For linear interpolation along an axis of `size` elements: the K = 2 elements next to each of
// `positions`, [B,P…], one on each side, with their weights. Elements outside [0, size) count as 0.
SampledAxis LinearOrZero(OnnxBuild& b, const Value& positions, int64_t size);

// min(max(x, low), high), and low for NaN.
Value Clamped(OnnxBuild& b, const Value& x, double low, double high);
// Whether low <= x <= high; false for NaN.
Value Within(OnnxBuild& b, const Value& x, double low, double high);

// x in a type for sums: f16 and bf16 become f32.
Value Widened(OnnxBuild& b, const Value& x);

// The weighted elements of x, [N,C,S…], as [B,P…,K,C]. `axes` has one entry for each of S…; K is
// the product of the numbers of elements along the axes. Batch n of the samples reads image
// images[n] of x, or image n if `images` is empty. The caller sums over K.
Value SampledTerms(OnnxImport& node, OnnxBuild& b, const Value& x,
                   const std::vector<SampledAxis>& axes, const Value& images = {});

// Imports DeformConv: a convolution that moves each sample by its own offset
// and scales it by a mask. Defined in deform_conv.cc.
absl::StatusOr<std::vector<Value>> ImportDeformConv(OnnxImport& node);

}  // namespace lemma::ops

#endif  // LEMMA_GRAPH_ONNX_COMPOSITES_SAMPLING_H_
