#include "graph/onnx/constant_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx_conversion.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

constexpr int64_t kMaxConstantBytes = int64_t{1} << 31;

absl::Status CheckSize(const TensorType& type) {
  for (int64_t d : type.shape) {
    if (d < 0) return absl::InvalidArgumentError(absl::StrCat(type.ToString(), ": negative size"));
  }
  if (type.num_bytes() <= kMaxConstantBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(type.ToString(), " is larger than 2 GB"));
}

Values OneConstant(OnnxImport& node, absl::StatusOr<Tensor> tensor) {
  if (!tensor.ok()) return tensor.status();
  return std::vector<Value>{node.Constant(*std::move(tensor))};
}

Values ImportConstant(OnnxImport& node) {
  auto one = [&](absl::StatusOr<Tensor> tensor) { return OneConstant(node, std::move(tensor)); };
  if (const OnnxAttr* attr = node.FindAttr("value")) {
    if (const Tensor* tensor = std::get_if<Tensor>(attr)) return one(*tensor);
  }
  if (const OnnxAttr* attr = node.FindAttr("value_int")) {
    if (const auto* v = std::get_if<int64_t>(attr))
      return one(Tensor::FromInts({DType::kI64, {}}, {*v}));
  }
  if (const OnnxAttr* attr = node.FindAttr("value_ints")) {
    if (const auto* v = std::get_if<std::vector<int64_t>>(attr)) return one(Tensor::Ints(*v));
  }
  if (const OnnxAttr* attr = node.FindAttr("value_float")) {
    if (const auto* v = std::get_if<double>(attr))
      return one(Tensor::Filled({DType::kF32, {}}, *v));
  }
  if (const OnnxAttr* attr = node.FindAttr("value_floats")) {
    if (const auto* v = std::get_if<std::vector<double>>(attr)) {
      return one(Tensor::FromDoubles({DType::kF32, {static_cast<int64_t>(v->size())}}, *v));
    }
  }
  return node.Unsupported("a value that is no dense tensor of numbers");
}

Values ImportConstantOfShape(OnnxImport& node) {
  auto shape = node.ConstantInput(0);
  if (!shape.ok()) return shape.status();
  TensorType type{DType::kF32, shape->ToInts()};
  const bool is_symbolic = IsSymbolic(type.shape);
  const OnnxAttr* attr = node.FindAttr("value");
  const Tensor* value = attr == nullptr ? nullptr : std::get_if<Tensor>(attr);
  if (attr != nullptr && (value == nullptr || value->size() != 1)) {
    return absl::InvalidArgumentError("attribute value must be a tensor of one element");
  }
  if (value != nullptr) type.dtype = value->dtype();
  if (is_symbolic) {
    auto scalar = node.Scalar(type.dtype, value == nullptr ? 0 : value->AtDouble(0));
    if (!scalar.ok()) return scalar.status();
    return node.Ops("expand", {*scalar}, {{"shape", type.shape}});
  }
  if (auto status = CheckSize(type); !status.ok()) return status;
  auto tensor = Tensor::Allocate(type);
  if (!tensor.ok()) return tensor.status();
  char* bytes = static_cast<char*>(tensor->mutable_raw());
  const size_t size = static_cast<size_t>(SizeOf(type.dtype));
  const size_t total = static_cast<size_t>(type.num_bytes());
  if (value == nullptr) {
    std::memset(bytes, 0, total);
  } else if (total > 0) {
    std::memcpy(bytes, value->raw(), size);
    for (size_t done = size; done < total; done *= 2) {
      std::memcpy(bytes + done, bytes, std::min(done, total - done));
    }
  }
  return OneConstant(node, *std::move(tensor));
}

Values ImportShape(OnnxImport& node) {
  auto x = node.Input(0);
  auto start = node.Int("start", 0);
  auto end = node.Int("end", INT64_MAX);
  for (const auto& status : {x.status(), start.status(), end.status()}) {
    if (!status.ok()) return status;
  }
  const Shape& shape = x->shape();
  const int64_t rank = static_cast<int64_t>(shape.size());
  auto clamp = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  int64_t first = clamp(*start), last = std::max(first, clamp(*end));
  const Shape sizes(shape.begin() + first, shape.begin() + last);
  if (IsSymbolic(sizes)) return node.Ops("sizes", {}, {{"sizes", sizes}});
  return OneConstant(node, Tensor::Ints(sizes));
}

Values ImportSize(OnnxImport& node) {
  auto x = node.Input(0);
  if (!x.ok()) return x.status();
  const int64_t count = ProductOf(x->shape());
  if (!IsSymbolic(count)) return OneConstant(node, Tensor::FromInts({DType::kI64, {}}, {count}));
  auto sizes = node.Op("sizes", {}, {{"sizes", Shape{count}}});
  if (!sizes.ok()) return sizes.status();
  return node.Ops("reshape", {*sizes}, {{"shape", Shape{}}});
}

// The same for whole numbers and symbolic sizes: count * delta must not be less than the distance.
Values SymbolicRange(OnnxImport& node, const Tensor* scalars) {
  auto type = node.Input(0);
  if (!type.ok()) return type.status();
  for (int i = 0; i < 3; ++i) {
    if (scalars[i].dtype() != DType::kI64) {
      return node.Unsupported("a range of numbers that depend on symbolic sizes");
    }
  }
  const IndexExpr start = ToExpr(scalars[0].AtInt(0)), limit = ToExpr(scalars[1].AtInt(0));
  const int64_t delta = scalars[2].AtInt(0);
  if (IsSymbolic(delta) || delta < 1 || Decide(Le(start, limit)) != true) {
    return node.Unsupported("a range whose length may be 0 for some sizes");
  }
  auto count = ToSize(CeilDiv(limit - start, delta));
  if (!count) return node.Unsupported("a range of symbolic length");
  auto y = node.Op("iota", {}, {{"size", *count}});
  for (const auto& [op, i] : {std::pair("mul", 2), std::pair("add", 0)}) {
    auto scalar = node.Input(i);
    for (const auto& status : {y.status(), scalar.status()}) {
      if (!status.ok()) return status;
    }
    auto wide = node.Op("cast", {*scalar}, {{"dtype", std::string("i64")}});
    if (!wide.ok()) return wide.status();
    y = node.Op(op, {*y, *wide});
  }
  if (!y.ok()) return y.status();
  return node.Ops("cast", {*y}, {{"dtype", std::string(Name(type->dtype()))}});
}

// start + i * delta for i < max(0, ceil((limit - start) / delta)).
Values ImportRange(OnnxImport& node) {
  Tensor scalars[3];
  for (int i = 0; i < 3; ++i) {
    auto tensor = node.ConstantInput(i);
    if (!tensor.ok()) return tensor.status();
    if (tensor->size() != 1) return absl::InvalidArgumentError("inputs must be scalars");
    scalars[i] = *std::move(tensor);
  }
  for (const Tensor& scalar : scalars) {
    if (scalar.dtype() == DType::kI64 && IsSymbolic(scalar.AtInt(0))) {
      return SymbolicRange(node, scalars);
    }
  }
  const DType dtype = scalars[0].dtype();
  const double start = scalars[0].AtDouble(0), delta = scalars[2].AtDouble(0);
  if (delta == 0) return absl::InvalidArgumentError("the step must not be 0");
  const double count = std::ceil((scalars[1].AtDouble(0) - start) / delta);
  if (!(count < 1e9)) return absl::InvalidArgumentError("the range is too long");
  std::vector<double> values;
  for (int64_t i = 0; i < static_cast<int64_t>(count); ++i) {
    values.push_back(start + static_cast<double>(i) * delta);
  }
  return OneConstant(node,
                     Tensor::FromDoubles({dtype, {static_cast<int64_t>(values.size())}}, values));
}

// The element type that an attribute names by ONNX's number.
absl::StatusOr<DType> TypeAttr(OnnxImport& node, const char* name, DType fallback) {
  if (node.FindAttr(name) == nullptr) return fallback;
  auto number = node.Int(name);
  if (!number.ok()) return number.status();
  return ops::FromOnnxNumber(node, *number);
}

// 1 where column = row + k, for sizes that may be symbolic.
Values DiagonalOf(OnnxImport& node, const TensorType& type, int64_t k) {
  ops::OnnxBuild b(node);
  Value row = b.Op("iota", {}, {{"size", type.shape[0]}});
  row = b.Reshape(b.Add(row, static_cast<double>(k)), {type.shape[0], 1});
  const Value column = b.Op("iota", {}, {{"size", type.shape[1]}});
  const Value y =
      b.Op("cast", {b.Op("equal", {row, column})}, {{"dtype", std::string(Name(type.dtype))}});
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

Values ImportEyeLike(OnnxImport& node) {
  auto x = node.Input(0);
  if (!x.ok()) return x.status();
  auto dtype = TypeAttr(node, "dtype", x->dtype());
  auto diagonal = node.Int("k", 0);
  for (const auto& status : {dtype.status(), diagonal.status()}) {
    if (!status.ok()) return status;
  }
  if (x->type().rank() != 2) return absl::InvalidArgumentError("the input must have rank 2");
  TensorType type{*dtype, x->shape()};
  if (IsSymbolic(type.shape)) return DiagonalOf(node, type, *diagonal);
  if (auto status = CheckSize(type); !status.ok()) return status;
  std::vector<double> values(static_cast<size_t>(type.num_elements()), 0.0);
  for (int64_t i = 0; i < type.shape[0]; ++i) {
    int64_t j = i + *diagonal;
    if (j >= 0 && j < type.shape[1]) values[i * type.shape[1] + j] = 1;
  }
  return OneConstant(node, Tensor::FromDoubles(type, values));
}

// a0 - a1 cos(t) + a2 cos(2t), t = 2 pi n / N; N is one less if the window is symmetric.
Values ImportWindow(OnnxImport& node, double a0, double a1, double a2) {
  auto size = node.ConstantInput(0);
  auto periodic = node.Int("periodic", 1);
  auto dtype = TypeAttr(node, "output_datatype", DType::kF32);
  for (const auto& status : {size.status(), periodic.status(), dtype.status()}) {
    if (!status.ok()) return status;
  }
  const int64_t count = size->size() == 1 ? size->AtInt(0) : -1;
  if (count < 0 || count > (1 << 24)) return absl::InvalidArgumentError("the size is out of range");
  const double period = static_cast<double>(*periodic != 0 ? count : count - 1);
  std::vector<double> values;
  for (int64_t n = 0; n < count; ++n) {
    const double t = 2 * M_PI * static_cast<double>(n) / period;
    values.push_back(a0 - a1 * std::cos(t) + a2 * std::cos(2 * t));
  }
  return OneConstant(node, Tensor::FromDoubles({*dtype, {count}}, values));
}

}  // namespace

const std::vector<OnnxImporter>& ConstantOps() {
  static const auto* importers = new std::vector<OnnxImporter>{
      {"Constant", ImportConstant},
      {"ConstantOfShape", ImportConstantOfShape},
      {"Shape", ImportShape},
      {"Size", ImportSize},
      {"Range", ImportRange},
      {"EyeLike", ImportEyeLike},
      {"HannWindow", [](OnnxImport& node) { return ImportWindow(node, 0.5, 0.5, 0); }},
      {"HammingWindow",
       [](OnnxImport& node) { return ImportWindow(node, 25.0 / 46, 21.0 / 46, 0); }},
      {"BlackmanWindow", [](OnnxImport& node) { return ImportWindow(node, 0.42, 0.5, 0.08); }},
  };
  return *importers;
}

}  // namespace lemma
