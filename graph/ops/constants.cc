// ONNX operators that are constants once their input types are known.
#include <algorithm>
#include <cmath>

#include "graph/onnx_form.h"
#include "graph/ops/checks.h"
#include "graph/ops/expand.h"
#include "graph/ops/onnx_dtype.h"

namespace lemma::ops {
namespace {

using Outputs = absl::StatusOr<std::vector<Value>>;

// Tensors that an import makes itself, element by element.
constexpr int64_t kMaxElements = int64_t{1} << 28;

Outputs ImportConstant(OnnxImport& node) {
  if (const OnnxAttr* value = node.FindAttr("value")) {
    if (auto* tensor = std::get_if<Tensor>(value))
      return std::vector<Value>{node.Constant(*tensor)};
  }
  auto vector = [&](auto make, DType dtype, const auto& values) -> Outputs {
    const int64_t count = static_cast<int64_t>(values.size());
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, make(TensorType{dtype, {count}}, values));
    return std::vector<Value>{node.Constant(std::move(tensor))};
  };
  if (const OnnxAttr* value = node.FindAttr("value_ints")) {
    if (auto* list = std::get_if<std::vector<int64_t>>(value)) {
      return vector(Tensor::FromInts, DType::kI64, *list);
    }
  }
  if (const OnnxAttr* value = node.FindAttr("value_floats")) {
    if (auto* list = std::get_if<std::vector<double>>(value)) {
      return vector(Tensor::FromDoubles, DType::kF32, *list);
    }
  }
  if (node.FindAttr("value_int") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(int64_t i, node.Int("value_int"));
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromInts({DType::kI64, {}}, {&i, 1}));
    return std::vector<Value>{node.Constant(std::move(tensor))};
  }
  if (node.FindAttr("value_float") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(double f, node.Float("value_float"));
    LEMMA_ASSIGN_OR_RETURN(Value scalar, node.Scalar(DType::kF32, f));
    return std::vector<Value>{scalar};
  }
  return node.Unsupported("only dense tensors of numbers");
}

Outputs ImportConstantOfShape(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Tensor shape, node.ConstantInput(0));
  TensorType type{DType::kF32, shape.ToInts()};
  for (int64_t size : type.shape) {
    if (size < 0) {
      return absl::InvalidArgumentError(absl::StrCat(ToString(type.shape), " is no shape"));
    }
  }
  if (const OnnxAttr* attr = node.FindAttr("value")) {
    const Tensor* tensor = std::get_if<Tensor>(attr);
    if (tensor == nullptr || tensor->size() != 1) {
      return absl::InvalidArgumentError("attribute value must be a tensor of one element");
    }
    type.dtype = tensor->dtype();
    // Not through a double, which cannot hold every i64.
    Value scalar = node.Constant(tensor->Reshaped({}));
    if (type.shape.empty()) return std::vector<Value>{scalar};
    return node.Ops("expand", {scalar}, {{"shape", type.shape}});
  }
  LEMMA_ASSIGN_OR_RETURN(Value filled, Filled(node, type, 0));
  return std::vector<Value>{filled};
}

Outputs ImportRange(OnnxImport& node) {
  Tensor given[3];
  for (int i = 0; i < 3; ++i) {
    LEMMA_ASSIGN_OR_RETURN(given[i], node.ConstantInput(i));
    if (given[i].size() != 1) return absl::InvalidArgumentError("bounds and step must be scalars");
  }
  const DType dtype = given[0].dtype();
  const double start = given[0].AtDouble(0), step = given[2].AtDouble(0);
  const double count = std::max(0.0, std::ceil((given[1].AtDouble(0) - start) / step));
  if (!(count <= static_cast<double>(kMaxElements))) {
    return absl::InvalidArgumentError(absl::StrCat("a range of ", count, " elements"));
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor range, Tensor::Allocate({dtype, {static_cast<int64_t>(count)}}));
  if (IsFloat(dtype)) {
    std::vector<double> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
    LEMMA_ASSIGN_OR_RETURN(range, Tensor::FromDoubles(range.type(), values));
  } else {
    std::vector<int64_t> values(static_cast<size_t>(count), given[0].AtInt(0));
    for (size_t i = 1; i < values.size(); ++i) values[i] = values[i - 1] + given[2].AtInt(0);
    LEMMA_ASSIGN_OR_RETURN(range, Tensor::FromInts(range.type(), values));
  }
  return std::vector<Value>{node.Constant(std::move(range))};
}

Outputs ImportEyeLike(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value like, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t k, node.Int("k", 0));
  TensorType type = like.type();
  if (node.FindAttr("dtype") != nullptr) {
    LEMMA_ASSIGN_OR_RETURN(int64_t number, node.Int("dtype"));
    LEMMA_ASSIGN_OR_RETURN(type.dtype, FromOnnxNumber(node, number));
  }
  if (type.rank() != 2) return absl::InvalidArgumentError("the input must be a matrix");
  if (type.num_elements() > kMaxElements) {
    return absl::InvalidArgumentError(absl::StrCat("a unit matrix ", type.ToString()));
  }
  std::vector<int64_t> values(static_cast<size_t>(type.num_elements()), 0);
  const int64_t rows = type.shape[0], columns = type.shape[1];
  for (int64_t i = std::max<int64_t>(0, -k); i < rows && i + k < columns; ++i) {
    values[i * columns + i + k] = 1;
  }
  LEMMA_ASSIGN_OR_RETURN(Tensor eye, Tensor::FromInts(type, values));
  return std::vector<Value>{node.Constant(std::move(eye))};
}

Outputs ImportShape(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  const int64_t rank = x.type().rank();
  LEMMA_ASSIGN_OR_RETURN(int64_t start, node.Int("start", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t end, node.Int("end", rank));
  auto clamp = [rank](int64_t i) {
    return std::min(std::max<int64_t>(i < 0 ? i + rank : i, 0), rank);
  };
  start = clamp(start);
  end = std::max(start, clamp(end));
  std::vector<int64_t> sizes(x.shape().begin() + start, x.shape().begin() + end);
  return std::vector<Value>{node.Constant(Tensor::Ints(sizes))};
}

Outputs ImportSize(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  const int64_t size = x.type().num_elements();
  LEMMA_ASSIGN_OR_RETURN(Tensor count, Tensor::FromInts({DType::kI64, {}}, {&size, 1}));
  return std::vector<Value>{node.Constant(std::move(count))};
}

}  // namespace

std::vector<OnnxImporter> ConstantImporters() {
  return {{"Constant", ImportConstant}, {"ConstantOfShape", ImportConstantOfShape},
          {"Range", ImportRange},       {"EyeLike", ImportEyeLike},
          {"Shape", ImportShape},       {"Size", ImportSize}};
}

}  // namespace lemma::ops
