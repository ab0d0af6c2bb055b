#include "graph/onnx/composites/axes.h"

#include <algorithm>
#include <cmath>
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

namespace {

// What a reduction over no elements gives; nullopt if its operator says that itself.
std::optional<double> OfNothing(const std::string& op) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (op == "reduce_max" || op == "reduce_logsumexp") return -kInf;
  if (op == "reduce_min") return kInf;
  if (op == "reduce_mean") return std::nan("");
  return std::nullopt;
}

// An infinity becomes the lowest or highest number of an integer type.
absl::StatusOr<Value> Filled(OnnxImport& node, DType dtype, Shape shape, double value) {
  LEMMA_ASSIGN_OR_RETURN(Tensor scalar, Tensor::Filled({dtype, {}}, value));
  if (IsInteger(dtype) && std::isinf(value)) {
    const int64_t number = value > 0 ? LargestInteger(dtype) : LeastInteger(dtype);
    LEMMA_ASSIGN_OR_RETURN(scalar, Tensor::FromInts({dtype, {}}, {number}));
  }
  return node.Op("expand", {node.Constant(std::move(scalar))}, {{"shape", std::move(shape)}});
}

// The mean or the root of the sum of squares, cut off towards 0.
absl::StatusOr<Value> OfIntegers(OnnxImport& node, const std::string& op, Value x,
                                 const std::vector<int64_t>& axes, int64_t keepdims) {
  const DType dtype = x.dtype();
  double count = 1;
  for (int64_t axis : axes) count *= static_cast<double>(x.shape()[axis]);
  if (op == "reduce_l2") {
    LEMMA_ASSIGN_OR_RETURN(x, node.Op("cast", {x}, {{"dtype", std::string("f64")}}));
    LEMMA_ASSIGN_OR_RETURN(x, node.Op(op, {x}, {{"axes", axes}, {"keepdims", keepdims}}));
    return node.Op("cast", {x}, {{"dtype", std::string(Name(dtype))}});
  }
  if (dtype != DType::kI64) {
    LEMMA_ASSIGN_OR_RETURN(x, node.Op("cast", {x}, {{"dtype", std::string("i64")}}));
  }
  LEMMA_ASSIGN_OR_RETURN(x, node.Op("reduce_sum", {x}, {{"axes", axes}, {"keepdims", keepdims}}));
  LEMMA_ASSIGN_OR_RETURN(const Value divisor, node.Scalar(DType::kI64, count));
  LEMMA_ASSIGN_OR_RETURN(x, node.Op("div", {x, divisor}));
  if (dtype == DType::kI64) return x;
  return node.Op("cast", {x}, {{"dtype", std::string(Name(dtype))}});
}

// Reduces x over `axes`, in [0, rank).
absl::StatusOr<Value> Reduced(OnnxImport& node, const std::string& op, const Value& x,
                              const std::vector<int64_t>& axes, int64_t keepdims) {
  if (x.type().rank() == 0) {
    LEMMA_ASSIGN_OR_RETURN(const Value vector, Reshape(node, x, {1}));
    return Reduced(node, op, vector, {0}, 0);
  }
  const std::optional<double> of_nothing = OfNothing(op);
  const bool empty =
      std::any_of(axes.begin(), axes.end(), [&](int64_t axis) { return x.shape()[axis] == 0; });
  if ((!empty || !of_nothing) && IsInteger(x.dtype())) {
    if (op == "reduce_mean" || op == "reduce_l2") return OfIntegers(node, op, x, axes, keepdims);
    if (op == "reduce_logsumexp") return node.Unsupported("integers");
  }
  if (!empty || !of_nothing) return node.Op(op, {x}, {{"axes", axes}, {"keepdims", keepdims}});
  Shape shape;
  for (int64_t d = 0; d < x.type().rank(); ++d) {
    const bool gone = std::count(axes.begin(), axes.end(), d) > 0;
    if (!gone) shape.push_back(x.shape()[d]);
    if (gone && keepdims != 0) shape.push_back(1);
  }
  return Filled(node, x.dtype(), std::move(shape), *of_nothing);
}

}  // namespace

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
  // The maximum of truth values is whether any is true, the minimum whether all are.
  if (x.dtype() == DType::kBool && (op == "reduce_max" || op == "reduce_min")) {
    LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("cast", {x}, {{"dtype", std::string("i32")}}));
    LEMMA_ASSIGN_OR_RETURN(y, Reduced(node, op, y, axes, keepdims));
    if (op == "reduce_max") {
      // Over nothing, the lowest number is no truth.
      LEMMA_ASSIGN_OR_RETURN(const Value zero, node.Scalar(DType::kI32, 0));
      return node.Op("greater", {y, zero});
    }
    return node.Op("cast", {y}, {{"dtype", std::string("bool")}});
  }
  return Reduced(node, op, x, axes, keepdims);
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
