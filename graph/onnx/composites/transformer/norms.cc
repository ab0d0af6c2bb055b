// Normalizations of the last axes, and of groups of channels.
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/shapes.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// The element type that a normalization computes in.
absl::StatusOr<DType> StashType(const OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(int64_t number, node.Int("stash_type", 1));
  return FromOnnxNumber(node, number);
}

struct Normalized {
  Value y, inverse;  // inverse = 1 / sqrt(mean(x²) + epsilon)
};

// x / sqrt(mean(x²) + epsilon), mean over the axes from `axis` on.
Normalized RootMeanSquare(OnnxBuild& b, const Value& x, int64_t axis, double epsilon) {
  if (!x) return {};
  std::vector<int64_t> axes;
  for (int64_t i = axis; i < x.type().rank(); ++i) axes.push_back(i);
  Attrs over = {{"axes", axes}, {"keepdims", int64_t{1}}};
  const Value root = b.Op("sqrt", {b.Add(b.Op("reduce_mean", {b.Mul(x, x)}, over), epsilon)});
  return {b.Div(x, root), b.Op("reciprocal", {root})};
}

// Outputs y = x / rms(x) * scale, and 1 / rms(x).
Values ImportRmsNorm(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value scale, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -1));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", 1e-5));
  LEMMA_ASSIGN_OR_RETURN(DType stash, StashType(node));
  const Normalized n = RootMeanSquare(b, b.Cast(x, stash), axis, epsilon);
  const Value y = b.Mul(b.Cast(n.y, scale.dtype()), scale);
  if (!b.status().ok()) return b.status();
  if (y.shape() != x.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("scale ", ToString(scale.shape()),
                                                   " does not broadcast to ", ToString(x.shape())));
  }
  return std::vector<Value>{y, n.inverse};
}

// A number per channel from one per channel or, before operator set 21, one per group.
Value PerChannel(OnnxImport& node, OnnxBuild& b, int i, int64_t channels, int64_t groups) {
  const Value x = b.Input(i);
  if (!x) return x;
  const int64_t count = node.opset() < 21 ? groups : channels;
  if (x.shape() != Shape{count}) {
    Fail(b, absl::StrCat("input ", i, " ", ToString(x.shape()), " must be [", count, "]"));
    return Value();
  }
  if (count == channels) return x;
  const int64_t size = channels / groups;
  return b.Reshape(Expand(b, b.Reshape(x, {groups, 1}), {groups, size}), {channels});
}

Values ImportGroupNorm(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t groups, node.Int("num_groups"));
  LEMMA_ASSIGN_OR_RETURN(double epsilon, node.Float("epsilon", 1e-5));
  DType stash = x.dtype();
  if (node.opset() >= 21) {
    LEMMA_ASSIGN_OR_RETURN(stash, StashType(node));
  }
  const int64_t channels = x.type().rank() < 2 ? 0 : x.shape()[1];
  if (groups < 1 || channels < 1 || channels % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(ToString(x.shape()), " must be [N,C,...] with ",
                                                   groups, " groups dividing C"));
  }
  const Value scale = PerChannel(node, b, 1, channels, groups);
  const Value bias = PerChannel(node, b, 2, channels, groups);
  const Value y = b.Op("group_norm", {b.Cast(x, stash), b.Cast(scale, stash), b.Cast(bias, stash)},
                       {{"groups", groups}, {"epsilon", epsilon}});
  const Value rounded = b.Cast(y, x.dtype());
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{rounded};
}

}  // namespace

std::vector<OnnxImporter> TransformerNormComposites() {
  return {{"RMSNormalization", ImportRmsNorm},
          {"SimplifiedLayerNormalization", ImportRmsNorm},
          {"com.microsoft.SimplifiedLayerNormalization", ImportRmsNorm},
          {"GroupNormalization", ImportGroupNorm}};
}

}  // namespace lemma::ops
