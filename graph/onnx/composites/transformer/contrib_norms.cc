// Normalizations of com.microsoft, which add or look up their input first.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/shapes.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

constexpr double kEpsilon = 1e-12;  // the default of these operators

Attrs LastAxis() { return {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{1}}}; }

// f16 and bf16 are computed in f32.
Value Widened(OnnxBuild& b, const Value& x) {
  return !x || x.dtype() == DType::kF64 ? x : b.Cast(x, DType::kF32);
}

// 1 / sqrt(mean(x²) + epsilon) over the last axis.
Value InverseRoot(OnnxBuild& b, const Value& x, double epsilon) {
  const Value square = b.Op("reduce_mean", {b.Mul(x, x)}, LastAxis());
  return b.Op("reciprocal", {b.Op("sqrt", {b.Add(square, epsilon)})});
}

// Outputs y = norm(s), the mean of s, 1 / its deviation, and s = input + skip + bias.
Values ImportSkipNorm(OnnxImport& node, bool centered) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value input, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", kEpsilon));
  const int bias = centered ? 4 : 3;
  Value s = b.Add(Widened(b, input), Widened(b, b.Input(1)));
  if (node.HasInput(bias)) s = b.Add(s, Widened(b, b.Input(bias)));
  if (!s) return b.status();
  if (s.shape() != input.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("skip or bias does not broadcast to ", ToString(input.shape())));
  }
  const Value mean = b.Op("reduce_mean", {s}, LastAxis());
  const Value inverse = InverseRoot(b, centered ? b.Sub(s, mean) : s, epsilon);
  const Value scale = Widened(b, b.Input(2));
  Value y;
  if (centered) {
    std::vector<Value> in = {s, scale};
    if (node.HasInput(3)) in.push_back(Widened(b, b.Input(3)));
    y = b.Op("layer_norm", in, {{"epsilon", epsilon}});
  } else {
    y = b.Mul(b.Mul(s, inverse), scale);
  }
  y = b.Cast(y, input.dtype());
  s = b.Cast(s, input.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y, mean, inverse, s};
}

// The row of the table at each id.
Value Looked(OnnxBuild& b, int table, const Value& ids) {
  return b.Op("gather", {b.Input(table), ids}, {{"axis", int64_t{0}}});
}

// How many of the ids [B,L] the mask has, for each row; 0 without a mask.
Value MaskCount(OnnxImport& node, OnnxBuild& b, const Shape& ids) {
  constexpr int kMask = 7;
  if (!node.HasInput(kMask)) return Filled(node, b, DType::kI32, {ids[0]}, 0);
  const Value mask = b.Cast(b.Input(kMask), DType::kI32);
  if (!mask) return mask;
  const Value ones = b.Op("equal", {mask, b.Scalar(DType::kI32, 1)});
  return b.Op("reduce_sum", {b.Cast(ones, DType::kI32)}, {{"axes", std::vector<int64_t>{1}}});
}

// The layer normalization of the sum of the embeddings of words, positions and segments.
Values ImportEmbedNorm(OnnxImport& node) {
  enum { kIds, kSegments, kWords, kPlaces, kSegmentTable, kScale, kBias, kMask, kPositions };
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value ids, node.Input(kIds));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", kEpsilon));
  LEMMA_ASSIGN_OR_RETURN(int64_t mask_index, node.Int("mask_index_type", 1));
  if (ids.type().rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("ids ", ToString(ids.shape()), " must be [B,L]"));
  }
  Value positions = Positions(node, b, ids.shape()[1], 2, 1);
  if (node.HasInput(kPositions)) positions = b.Input(kPositions);
  Value sum = b.Add(Looked(b, kWords, ids), Looked(b, kPlaces, positions));
  if (node.HasInput(kSegments)) sum = b.Add(sum, Looked(b, kSegmentTable, b.Input(kSegments)));
  if (!sum) return b.status();
  const DType dtype = sum.dtype();
  Value y =
      b.Op("layer_norm", {Widened(b, sum), Widened(b, b.Input(kScale)), Widened(b, b.Input(kBias))},
           {{"epsilon", epsilon}});
  y = b.Cast(y, dtype);
  Value count;
  if (mask_index != 0) count = MaskCount(node, b, ids.shape());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y, count, sum};
}

}  // namespace

std::vector<OnnxImporter> ContribNormComposites() {
  return {{"com.microsoft.SkipLayerNormalization",
           [](OnnxImport& node) { return ImportSkipNorm(node, true); }},
          {"com.microsoft.SkipSimplifiedLayerNormalization",
           [](OnnxImport& node) { return ImportSkipNorm(node, false); }},
          {"com.microsoft.EmbedLayerNormalization", ImportEmbedNorm}};
}

}  // namespace lemma::ops
