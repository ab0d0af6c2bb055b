#include "graph/ops/formula.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace lemma {
namespace {

// The shape that both broadcast to; it must exist.
Shape Broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  Shape shape = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = shape[longer.size() - shorter.size() + i];
    if (size == 1) size = shorter[i];
  }
  return shape;
}

}  // namespace

std::vector<int64_t> AxesBut(int64_t n, const std::vector<int64_t>& without) {
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < n; ++i) {
    if (std::find(without.begin(), without.end(), i) == without.end()) axes.push_back(i);
  }
  return axes;
}

std::vector<Value> Formula::Ops(absl::string_view op, std::vector<Value> inputs, Attrs attrs) {
  for (const Value& input : inputs) {
    if (!input) return {};
  }
  if (!status_.ok()) return {};
  auto outputs = apply_(op, std::move(inputs), std::move(attrs));
  if (outputs.ok()) return *std::move(outputs);
  Fail(outputs.status());
  return {};
}

Value Formula::Op(absl::string_view op, std::vector<Value> inputs, Attrs attrs) {
  std::vector<Value> outputs = Ops(op, std::move(inputs), std::move(attrs));
  return outputs.empty() ? Value() : outputs[0];
}

Value Formula::Constant(const absl::StatusOr<Tensor>& tensor) {
  if (tensor.ok()) return Value(Node::Constant(*tensor), 0);
  Fail(tensor.status());
  return Value();
}

Value Formula::Scalar(DType dtype, double value) {
  return Constant(Tensor::Filled({dtype, {}}, value));
}

Value Formula::Filled(const TensorType& type, double value) {
  return Expand(Scalar(type.dtype, value), type.shape);
}

std::optional<double> Formula::Uniform(const Value& x) {
  const Node& node = x.node();
  if (node.IsOp("expand") || node.IsOp("reshape")) return Uniform(node.inputs()[0]);
  if (node.kind() != Node::Kind::kConstant || node.payload().size() != 1) return std::nullopt;
  return node.payload().AtDouble(0);
}

Value Formula::Arithmetic(absl::string_view op, const Value& a, const Value& b) {
  // An expanded number broadcasts equally well without the expansion.
  auto small = [&](const Value& x, const Value& other) {
    const std::optional<double> number = Uniform(x);
    const bool fits = number && Broadcast(x.shape(), other.shape()) == other.shape();
    return fits ? Scalar(x.dtype(), *number) : x;
  };
  return Op(op, {small(a, b), small(b, a)});
}

Value Formula::Add(const Value& a, const Value& b) {
  if (!a || !b) return a ? a : b;
  const std::optional<double> x = Uniform(a), y = Uniform(b);
  const Shape shape = Broadcast(a.shape(), b.shape());
  if (x && y) return Filled({a.dtype(), shape}, *x + *y);
  if (x == 0.0) return Expand(b, shape);
  if (y == 0.0) return Expand(a, shape);
  if (a == b) return Mul(a, 2);
  return Arithmetic("add", a, b);
}

Value Formula::Sub(const Value& a, const Value& b) {
  if (!b) return a;
  if (!a) return Neg(b);
  const std::optional<double> x = Uniform(a), y = Uniform(b);
  const Shape shape = Broadcast(a.shape(), b.shape());
  if (x && y) return Filled({a.dtype(), shape}, *x - *y);
  if (x == 0.0) return Expand(Neg(b), shape);
  if (y == 0.0) return Expand(a, shape);
  return Arithmetic("sub", a, b);
}

Value Formula::Mul(const Value& a, const Value& b) {
  if (!a || !b) return Value();
  const std::optional<double> x = Uniform(a), y = Uniform(b);
  const Shape shape = Broadcast(a.shape(), b.shape());
  if (x && y) return Filled({a.dtype(), shape}, *x * *y);
  if (x == 1.0) return Expand(b, shape);
  if (y == 1.0) return Expand(a, shape);
  if (x == -1.0) return Expand(Neg(b), shape);
  if (y == -1.0) return Expand(Neg(a), shape);
  if (x && !y) return Mul(b, a);  // a number goes to the right, where it may meet another one
  if (y && a.node().IsOp("mul") && a.shape() == shape) {
    const std::vector<Value>& factors = a.node().inputs();
    if (const std::optional<double> z = Uniform(factors[1])) {
      return Mul(factors[0], Scalar(a.dtype(), *z * *y));
    }
  }
  return Arithmetic("mul", a, b);
}

Value Formula::Div(const Value& a, const Value& b) {
  if (!a || !b) return Value();
  const std::optional<double> x = Uniform(a), y = Uniform(b);
  const Shape shape = Broadcast(a.shape(), b.shape());
  if (x && y) return Filled({a.dtype(), shape}, *x / *y);
  if (y == 1.0) return Expand(a, shape);
  return Arithmetic("div", a, b);
}

Value Formula::Neg(const Value& a) {
  if (!a) return a;
  if (const std::optional<double> x = Uniform(a)) return Filled(a.type(), -*x);
  if (a.node().IsOp("neg")) return a.node().inputs()[0];
  return Op("neg", {a});
}

Value Formula::Where(const Value& test, const Value& a, const Value& b) {
  if (!a && !b) return Value();
  const DType dtype = a ? a.dtype() : b.dtype();
  auto broadcast = [](const Value& x, const Value& y) {
    return y ? Broadcast(x.shape(), y.shape()) : x.shape();
  };
  // An expanded number broadcasts equally well without the expansion.
  auto small = [&](const Value& x, const Value& other) {
    if (!x) return Scalar(dtype, 0);
    const std::optional<double> number = Uniform(x);
    if (!number) return x;
    const std::optional<Shape> rest = broadcast(test, other);
    return rest && Broadcast(x.shape(), *rest) == rest ? Scalar(dtype, *number) : x;
  };
  const Value then = small(a, b);
  return Op("where", {test, then, small(b, then)});
}

Value Formula::Sum(const Value& x, std::vector<int64_t> axes, bool keepdims) {
  if (axes.empty() || !x) return x;
  return Op("reduce_sum", {x}, {{"axes", std::move(axes)}, {"keepdims", int64_t{keepdims}}});
}

Value Formula::Mean(const Value& x, std::vector<int64_t> axes, bool keepdims) {
  if (axes.empty() || !x) return x;
  return Op("reduce_mean", {x}, {{"axes", std::move(axes)}, {"keepdims", int64_t{keepdims}}});
}

Value Formula::SumTo(const Value& x, const Shape& shape) {
  if (!x || x.shape() == shape) return x;
  const size_t added = x.shape().size() - shape.size();
  std::vector<int64_t> axes;
  for (size_t i = 0; i < x.shape().size(); ++i) {
    if (x.shape()[i] != 1 && (i < added || shape[i - added] == 1)) {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (const std::optional<double> number = Uniform(x)) {
    double count = 1;
    for (int64_t axis : axes) count *= static_cast<double>(x.shape()[axis]);
    return Filled({x.dtype(), shape}, *number * count);
  }
  return Reshape(Sum(x, axes), shape);
}

Value Formula::Expand(const Value& x, const Shape& shape) {
  if (!x || x.shape() == shape) return x;
  if (x.node().IsOp("expand")) return Expand(x.node().inputs()[0], shape);
  return Op("expand", {x}, {{"shape", shape}});
}

Value Formula::Reshape(const Value& x, const Shape& shape) {
  if (!x || x.shape() == shape) return x;
  if (const std::optional<double> number = Uniform(x)) return Filled({x.dtype(), shape}, *number);
  if (x.node().IsOp("reshape")) return Reshape(x.node().inputs()[0], shape);
  return Op("reshape", {x}, {{"shape", shape}});
}

Value Formula::Transpose(const Value& x, std::vector<int64_t> perm) {
  if (!x) return x;
  if (x.node().IsOp("transpose")) {
    const std::vector<int64_t>& inner = x.node().Ints("perm");
    for (int64_t& p : perm) p = inner[p];
    return Transpose(x.node().inputs()[0], std::move(perm));
  }
  if (std::is_sorted(perm.begin(), perm.end())) return x;
  return Op("transpose", {x}, {{"perm", std::move(perm)}});
}

Value Formula::MatrixTranspose(const Value& x) {
  if (!x) return x;
  std::vector<int64_t> perm = AxesBut(x.type().rank());
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return Transpose(x, std::move(perm));
}

Value Formula::Slice(const Value& x, std::vector<int64_t> starts, Shape sizes) {
  if (!x || x.shape() == sizes) return x;
  return Op("slice", {x}, {{"starts", std::move(starts)}, {"sizes", std::move(sizes)}});
}

Value Formula::Concat(std::vector<Value> parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return Op("concat", std::move(parts), {{"axis", axis}});
}

Value Formula::Cast(const Value& x, DType to) {
  if (!x || x.dtype() == to) return x;
  // f32 and f64 hold every number of a 16-bit type.
  if (x.node().IsOp("cast") && IsFloat(x.dtype()) && !IsHalfFloat(x.dtype()) && IsHalfFloat(to) &&
      x.node().inputs()[0].dtype() == to) {
    return x.node().inputs()[0];
  }
  return Op("cast", {x}, {{"dtype", std::string(Name(to))}});
}

}  // namespace lemma
