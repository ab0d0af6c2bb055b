#include "graph/onnx/composites/transformer/shapes.h"

#include <numeric>

#include "absl/strings/str_cat.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
void Fail(OnnxBuild& b, const std::string& message) {
  b.Take<Value>(absl::InvalidArgumentError(message));
}

Value SplitHeads(OnnxBuild& b, const Value& x, int64_t heads) {
  if (!x) return x;
  const Shape& s = x.shape();
  if (s.size() != 3 || heads < 1 || IsSymbolic(s[2]) || s[2] % heads != 0) {
    Fail(b, absl::StrCat(ToString(s), " must be [batch, length, ", heads, " heads * size]"));
    return Value();
  }
  return b.Transpose(b.Reshape(x, {s[0], s[1], heads, s[2] / heads}), {0, 2, 1, 3});
}

Value MergeHeads(OnnxBuild& b, const Value& x) {
  if (!x) return x;
  const Shape& s = x.shape();
  return b.Reshape(b.Transpose(x, {0, 2, 1, 3}), {s[0], s[2], ProductOf({s[1], s[3]})});
}

Value Slice(OnnxBuild& b, const Value& x, int axis, int64_t begin, int64_t end, int64_t step) {
  if (!x) return x;
  Shape sizes = x.shape();
  if (begin == 0 && end == sizes[axis] && step == 1) return x;
  Shape starts(sizes.size(), 0), steps(sizes.size(), 1);
  starts[axis] = begin;
  sizes[axis] = (end - begin + step - 1) / step;
  steps[axis] = step;
  return b.Op("slice", {x}, {{"starts", starts}, {"sizes", sizes}, {"steps", steps}});
}

std::vector<Value> Split(OnnxBuild& b, const Value& x, int axis, std::vector<int64_t> sizes) {
  if (sizes.size() == 1) return {x};
  std::vector<Value> parts =
      b.Ops("split", {x}, {{"axis", static_cast<int64_t>(axis)}, {"sizes", sizes}});
  parts.resize(sizes.size());
  return parts;
}

Value Expand(OnnxBuild& b, const Value& x, Shape shape) {
  if (!x || x.shape() == shape) return x;
  return b.Op("expand", {x}, {{"shape", std::move(shape)}});
}

Value Filled(OnnxImport& node, OnnxBuild& b, DType dtype, Shape shape, double value) {
  if (IsSymbolic(shape)) return Expand(b, b.Scalar(dtype, value), std::move(shape));
  auto tensor = Tensor::Filled({dtype, std::move(shape)}, value);
  if (!tensor.ok()) return b.Take<Value>(tensor.status());
  return node.Constant(*std::move(tensor));
}

Value Positions(OnnxImport& node, OnnxBuild& b, int64_t count, int rank, int axis) {
  Shape shape(rank, 1);
  shape[axis] = count;
  if (IsSymbolic(count)) return b.Reshape(b.Op("iota", {}, {{"size", count}}), shape);
  if (count > kMaxPositions) {
    return b.Take<Value>(node.Unsupported(absl::StrCat(count, " positions")));
  }
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto tensor = Tensor::FromInts({DType::kI64, shape}, numbers);
  if (!tensor.ok()) return b.Take<Value>(tensor.status());
  return node.Constant(*std::move(tensor));
}

Value SizeAsNumber(OnnxBuild& b, int64_t size) {
  if (!IsSymbolic(size)) return b.Scalar(DType::kI64, static_cast<double>(size));
  return b.Reshape(b.Op("sizes", {}, {{"sizes", Shape{size}}}), {});
}

namespace {

// A write at one position of the axis, as the operator that says so: back ends can then write only
// that position. A position outside the axis, which scatter_elements would count from the end if it
// is negative, becomes one that writes nothing.
Value WriteOneAt(OnnxBuild& b, const Value& a, const Value& update, const Value& start, int axis,
                 bool circular) {
  const Value size = SizeAsNumber(b, a.shape()[axis]);
  const Value at =
      circular ? b.Op("mod", {start, size})
               : b.Op("where", {b.Op("less", {start, b.Scalar(DType::kI64, 0)}), size, start});
  if (!at) return Value();
  return b.Op("scatter_elements", {a, Expand(b, at, update.shape()), update},
              {{"axis", static_cast<int64_t>(axis)}});
}

}  // namespace

Value WriteAt(OnnxImport& node, OnnxBuild& b, const Value& a, const Value& update,
              const Value& start, int axis, bool circular) {
  if (!a || !update || !start) return Value();
  const Shape& shape = a.shape();
  const int64_t size = shape[axis], written = update.shape()[axis];
  if (size == 0 || written == 0) return a;
  const int rank = a.type().rank();
  if (written == 1) return WriteOneAt(b, a, update, start, axis, circular);
  Value from = b.Sub(Positions(node, b, size, rank, axis), start);
  if (circular) from = b.Op("mod", {from, SizeAsNumber(b, size)});
  const Value zero = b.Scalar(DType::kI64, 0);
  const Value inside = b.Op(
      "and", {b.Op("greater_equal", {from, zero}), b.Op("less", {from, SizeAsNumber(b, written)})});
  const Value safe = b.Op("where", {inside, from, zero});
  const Value taken = b.Op("gather_elements", {update, Expand(b, safe, shape)},
                           {{"axis", static_cast<int64_t>(axis)}});
  return b.Op("where", {inside, taken, a});
}

}  // namespace lemma::ops
