#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/composites.h"
#include "graph/onnx_conversion.h"

namespace lemma::ops {
namespace {

using Ints = std::vector<int64_t>;

// y = (x - mean) / (sqrt(mean((x - mean)^2)) + 1e-9), over `axes`.
absl::StatusOr<std::vector<Value>> ImportMeanVariance(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Ints axes, node.Ints("axes", Ints{0, 2, 3}));
  for (int64_t& axis : axes) {
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  }
  Attrs over = {{"axes", axes}, {"keepdims", int64_t{1}}};
  LEMMA_ASSIGN_OR_RETURN(Value mean, node.Op("reduce_mean", {x}, over));
  LEMMA_ASSIGN_OR_RETURN(Value difference, node.Op("sub", {x, mean}));
  LEMMA_ASSIGN_OR_RETURN(Value square, node.Op("mul", {difference, difference}));
  LEMMA_ASSIGN_OR_RETURN(Value variance, node.Op("reduce_mean", {square}, over));
  LEMMA_ASSIGN_OR_RETURN(Value deviation, node.Op("sqrt", {variance}));
  LEMMA_ASSIGN_OR_RETURN(Value tiny, node.Scalar(x.dtype(), 1e-9));
  LEMMA_ASSIGN_OR_RETURN(Value divisor, node.Op("add", {deviation, tiny}));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("div", {difference, divisor}));
  return std::vector<Value>{y};
}

// (sum over axes of |x|^p)^(1/p); the axes stay with size 1.
absl::StatusOr<Value> Norm(OnnxImport& node, const Value& x, const Ints& axes, int64_t p) {
  Attrs over = {{"axes", axes}, {"keepdims", int64_t{1}}};
  if (p == 2) return node.Op("reduce_l2", {x}, over);
  LEMMA_ASSIGN_OR_RETURN(Value absolute, node.Op("abs", {x}));
  if (p == 1) return node.Op("reduce_sum", {absolute}, over);
  if (p < 1) return absl::InvalidArgumentError(absl::StrCat("p is ", p, ", it must be positive"));
  LEMMA_ASSIGN_OR_RETURN(Value exponent, node.Scalar(x.dtype(), static_cast<double>(p)));
  LEMMA_ASSIGN_OR_RETURN(Value inverse, node.Scalar(x.dtype(), 1.0 / static_cast<double>(p)));
  LEMMA_ASSIGN_OR_RETURN(Value power, node.Op("pow", {absolute, exponent}));
  LEMMA_ASSIGN_OR_RETURN(Value sum, node.Op("reduce_sum", {power}, over));
  return node.Op("pow", {sum, inverse});
}

// x divided by its norm along one axis; 0 where the norm is 0.
absl::StatusOr<std::vector<Value>> ImportLpNormalization(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -1));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(int64_t p, node.Int("p", 2));
  LEMMA_ASSIGN_OR_RETURN(Value norm, Norm(node, x, {axis}, p));
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Scalar(x.dtype(), 0));
  LEMMA_ASSIGN_OR_RETURN(Value one, node.Scalar(x.dtype(), 1));
  LEMMA_ASSIGN_OR_RETURN(Value is_zero, node.Op("equal", {norm, zero}));
  LEMMA_ASSIGN_OR_RETURN(Value divisor, node.Op("where", {is_zero, one, norm}));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("div", {x, divisor}));
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ImportGlobalLpPool(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t p, node.Int("p", 2));
  Ints axes;
  for (int i = 2; i < x.type().rank(); ++i) axes.push_back(i);
  LEMMA_ASSIGN_OR_RETURN(Value y, Norm(node, x, axes, p));
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> NormComposites() {
  return {{"MeanVarianceNormalization", ImportMeanVariance},
          {"LpNormalization", ImportLpNormalization},
          {"GlobalLpPool", ImportGlobalLpPool}};
}

}  // namespace lemma::ops
