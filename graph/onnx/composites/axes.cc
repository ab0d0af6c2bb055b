#include "graph/onnx/composites/axes.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace lemma::ops {
namespace {

std::vector<int64_t> AllAxesFrom(int first, int rank) {
  std::vector<int64_t> axes;
  for (int i = first; i < rank; ++i) axes.push_back(i);
  return axes;
}

// What a reduction of no elements gives where Lemma's operator wants at least one; nullopt if it
// takes none, too.
std::optional<double> OfNothing(const std::string& op, DType dtype) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  // For integers, storing an infinity gives the least or greatest of the type.
  if (op == "reduce_max" || op == "reduce_logsumexp") return -kInf;
  if (op == "reduce_min") return kInf;
  if (op == "reduce_mean" && IsFloat(dtype)) return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

absl::StatusOr<Value> ReduceAxes(OnnxImport& node, const std::string& op, const Value& x,
                                 const std::vector<int64_t>& axes, int64_t keepdims) {
  const std::optional<double> nothing = OfNothing(op, x.dtype());
  Shape shape;
  bool is_empty = false;
  for (int d = 0; d < x.type().rank(); ++d) {
    const bool reduced = std::count(axes.begin(), axes.end(), d) > 0;
    is_empty = is_empty || (reduced && x.shape()[d] == 0);
    if (!reduced) shape.push_back(x.shape()[d]);
    if (reduced && keepdims != 0) shape.push_back(1);
  }
  if (!is_empty || !nothing) {
    return node.Op(op, {x}, {{"axes", axes}, {"keepdims", keepdims}});
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor filled, Tensor::Filled({x.dtype(), std::move(shape)}, *nothing));
  return node.Constant(std::move(filled));
}

}  // namespace

absl::StatusOr<int64_t> NormalizeOnnxAxis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("axis ", axis, " is outside a tensor of rank ", rank));
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<Value> Reshape(OnnxImport& node, const Value& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return node.Op("reshape", {x}, {{"shape", shape}});
}

absl::StatusOr<Value> ImportReductionOfValue(OnnxImport& node, const std::string& op,
                                             const Value& x) {
  const int rank = x.type().rank();
  LEMMA_ASSIGN_OR_RETURN(int64_t keepdims, node.Int("keepdims", 1));
  LEMMA_ASSIGN_OR_RETURN(int64_t noop, node.Int("noop_with_empty_axes", 0));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> axes, node.Ints("axes", std::vector<int64_t>{}));
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor constant, node.ConstantInput(1));
    axes = constant.ToInts();
  }
  for (int64_t& axis : axes) {
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty()) {
    if (noop != 0) return x;
    axes = AllAxesFrom(0, rank);
  }
  // From operator set 20 on, ONNX has extremes of truth values; false is less than true.
  if (x.dtype() == DType::kBool && (op == "reduce_max" || op == "reduce_min")) {
    LEMMA_ASSIGN_OR_RETURN(Value bytes, node.Op("cast", {x}, {{"dtype", std::string("u8")}}));
    LEMMA_ASSIGN_OR_RETURN(Value extreme, ReduceAxes(node, op, bytes, axes, keepdims));
    return node.Op("cast", {extreme}, {{"dtype", std::string("bool")}});
  }
  if (rank > 0) return ReduceAxes(node, op, x, axes, keepdims);
  LEMMA_ASSIGN_OR_RETURN(Value vector, Reshape(node, x, {1}));
  return node.Op(op, {vector}, {{"axes", std::vector<int64_t>{0}}});
}

absl::StatusOr<std::vector<Value>> ImportReduction(OnnxImport& node, const std::string& op) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value y, ImportReductionOfValue(node, op, x));
  return std::vector<Value>{y};
}

absl::StatusOr<std::vector<Value>> ImportGlobalPool(OnnxImport& node, const std::string& op) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  if (x.type().rank() < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", ToString(x.shape()), " must be [N, C, spatial...]"));
  }
  LEMMA_ASSIGN_OR_RETURN(
      Value y,
      node.Op(op, {x}, {{"axes", AllAxesFrom(2, x.type().rank())}, {"keepdims", int64_t{1}}}));
  return std::vector<Value>{y};
}

}  // namespace lemma::ops
