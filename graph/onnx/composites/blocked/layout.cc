#include "graph/onnx/composites/blocked/layout.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/onnx/composites/blocked/blocked.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Ints = std::vector<int64_t>;

const Ints& ToBlockedOrder() {
  static const auto* const order = new Ints{0, 1, 3, 4, 2};
  return *order;
}
const Ints& FromBlockedOrder() {
  static const auto* const order = new Ints{0, 1, 4, 2, 3};
  return *order;
}

// [N, C/c, c, H, W] and [N, C/c, H, W, c].
Shape PlainShape(const Shape& s, int64_t block) { return {s[0], s[1] / block, block, s[2], s[3]}; }
Shape BlockedShape(const Shape& s, int64_t block) {
  return {s[0], s[1] / block, s[2], s[3], block};
}

// z if x = reshape(transpose(reshape(z) to `inner`, order)), with z of x's shape.
Value Undone(const Value& x, const Shape& inner, const Ints& order) {
  if (!x.node().IsOp("reshape")) return Value();
  const Value& moved = x.node().inputs()[0];
  if (!moved.node().IsOp("transpose") || moved.node().Ints("perm") != order) return Value();
  const Value& split = moved.node().inputs()[0];
  if (split.shape() != inner) return Value();
  // A reshape to the same shape is left out.
  const Value z = split.node().IsOp("reshape") ? split.node().inputs()[0] : split;
  return z.shape() == x.shape() ? z : Value();
}

bool HasOnePosition(const Value& x) { return x.shape()[2] == 1 && x.shape()[3] == 1; }

// Whether every read in `e` is at the index itself, or in a tensor of one element.
bool ReadsInPlace(const ScalarExpr& e, const std::vector<Axis>& axes, const Node& node) {
  if (e.kind() == ScalarExpr::Kind::kIndex || e.kind() == ScalarExpr::Kind::kReduce ||
      e.kind() == ScalarExpr::Kind::kSelect) {
    return false;
  }
  if (e.kind() == ScalarExpr::Kind::kRead) {
    if (e.tensor() >= static_cast<TensorId>(node.inputs().size())) return false;
    if (node.inputs()[e.tensor()].type().num_elements() == 1) return true;
    if (e.indices().size() != axes.size()) return false;
    for (size_t d = 0; d < axes.size(); ++d) {
      if (e.indices()[d].ToString() != IndexExpr::Var(axes[d].var).ToString()) return false;
    }
  }
  return std::all_of(e.args().begin(), e.args().end(),
                     [&](const ScalarExpr& arg) { return ReadsInPlace(arg, axes, node); });
}

// Whether moving x's elements moves those of its result in the same way.
bool IsElementwise(const Node& node, const Shape& shape) {
  if (!node.is_op() || node.num_outputs() != 1) return false;
  for (const Value& operand : node.inputs()) {
    if (operand.shape() != shape && operand.type().num_elements() != 1) return false;
  }
  const auto definition = DefinitionOf(node);
  return definition.ok() && definition->tensors.size() == 1 &&
         ReadsInPlace(definition->tensors[0].body, definition->tensors[0].axes, node);
}

bool IsBlockedConcat(const Node& node, int64_t block) {
  if (!node.IsOp("concat") || node.Int("axis") != 1) return false;
  for (const Value& part : node.inputs()) {
    if (part.type().rank() != 4 || part.shape()[1] % block != 0) return false;
  }
  return true;
}

// The value of which x is the blocked form, without an operator that changes the layout; empty if
// x was not made by operators that keep it.
Value Unblocked(OnnxBuild& b, const Value& x, int64_t block, int depth) {
  if (x.type().rank() != 4 || x.shape()[1] % block != 0 || depth > 16) return Value();
  if (Value z = Undone(x, PlainShape(x.shape(), block), ToBlockedOrder())) return z;
  const Node& node = x.node();
  const bool elementwise = IsElementwise(node, x.shape());
  if (!elementwise && !IsBlockedConcat(node, block)) return Value();
  std::vector<Value> operands;
  for (const Value& operand : node.inputs()) {
    const bool scalar = elementwise && operand.type().num_elements() == 1;
    operands.push_back(scalar ? operand : Unblocked(b, operand, block, depth + 1));
    if (!operands.back()) return Value();
  }
  return b.Op(node.op().name, std::move(operands), node.attrs());
}

}  // namespace

Value ToBlocked(OnnxBuild& b, const Value& x, int64_t block) {
  if (!x || HasOnePosition(x)) return x;
  const Shape inner = BlockedShape(x.shape(), block);
  if (Value z = Undone(x, inner, FromBlockedOrder())) return z;
  const Value split = b.Reshape(x, PlainShape(x.shape(), block));
  return b.Reshape(b.Transpose(split, ToBlockedOrder()), x.shape());
}

Value FromBlocked(OnnxBuild& b, const Value& x, int64_t block) {
  if (!x || HasOnePosition(x)) return x;
  if (Value z = Unblocked(b, x, block, 0)) return z;
  const Value split = b.Reshape(x, BlockedShape(x.shape(), block));
  return b.Reshape(b.Transpose(split, FromBlockedOrder()), x.shape());
}

std::vector<Value> PlainForms(const Value& x, int64_t block) {
  if (x.type().rank() != 4 || IsSymbolic(x.shape()[1]) || x.shape()[1] % block != 0) return {};
  const Value z = HasOnePosition(x) ? x : Undone(x, PlainShape(x.shape(), block), ToBlockedOrder());
  if (!z) return {};
  if (z.node().IsOp("pad") && z.node().inputs()[0].type().rank() == 4) {
    return {z, z.node().inputs()[0]};
  }
  return {z};
}

static std::optional<PaddedChannels> Find(OnnxBuild& b, const Value& x, int depth);

// The same for an element-wise operator on such tensors: f(pad(x, a), pad(y, b)) is
// pad(f(x, y), f(a, b)).
static std::optional<PaddedChannels> PaddedElements(OnnxBuild& b, const Value& x, int depth) {
  const Node& node = x.node();
  if (depth > 16 || x.type().rank() != 4 || !IsElementwise(node, x.shape())) return std::nullopt;
  std::vector<Value> inner, added;
  Shape shape;
  for (const Value& operand : node.inputs()) {
    if (operand.shape() != x.shape()) {  // one number
      if (!operand.node().has_payload() || !IsFloat(operand.dtype())) return std::nullopt;
      inner.push_back(operand);
      added.push_back(b.Scalar(operand.dtype(), operand.node().payload().AtDouble(0)));
      continue;
    }
    const auto padded = Find(b, operand, depth + 1);
    if (!padded || (!shape.empty() && padded->inner.shape() != shape)) return std::nullopt;
    shape = padded->inner.shape();
    inner.push_back(padded->inner);
    added.push_back(b.Scalar(operand.dtype(), padded->value));
  }
  // The importer computes constants at once.
  const Value value = b.Op(node.op().name, std::move(added), node.attrs());
  if (shape.empty() || !value || !value.node().has_payload()) return std::nullopt;
  const Value y = b.Op(node.op().name, std::move(inner), node.attrs());
  if (!y) return std::nullopt;
  return PaddedChannels{y, value.node().payload().AtDouble(0)};
}

std::optional<PaddedChannels> PaddedChannelsOf(OnnxBuild& b, const Value& x) {
  return x ? Find(b, x, 0) : std::nullopt;
}

static std::optional<PaddedChannels> Find(OnnxBuild& b, const Value& x, int depth) {
  if (!x.node().IsOp("pad") || x.node().String("mode") != "constant") {
    return PaddedElements(b, x, depth);
  }
  Ints pads = x.node().Ints("pads");
  if (pads.size() != 8 || pads[5] <= 0) return std::nullopt;
  pads[5] = 0;
  if (pads != Ints(8, 0)) return std::nullopt;
  return PaddedChannels{x.node().inputs()[0], x.node().Float("value")};
}

Value PadChannels(OnnxBuild& b, const Value& x, int64_t channels, double value) {
  if (!x || x.shape()[1] == channels) return x;
  const Ints pads = {0, 0, 0, 0, 0, channels - x.shape()[1], 0, 0};
  return b.Op("pad", {x}, {{"pads", pads}, {"value", value}});
}

Value FirstChannels(OnnxBuild& b, const Value& x, int64_t channels) {
  if (!x || x.shape()[1] == channels) return x;
  if (auto padded = PaddedChannelsOf(b, x)) {
    if (padded->inner.shape()[1] > channels) return FirstChannels(b, padded->inner, channels);
    return PadChannels(b, padded->inner, channels, padded->value);
  }
  return First(b, x, 1, channels);
}

Value First(OnnxBuild& b, const Value& x, int64_t axis, int64_t size) {
  if (!x || x.shape()[axis] == size) return x;
  Shape sizes = x.shape();
  sizes[axis] = size;
  return b.Op("slice", {x}, {{"starts", Ints(sizes.size(), 0)}, {"sizes", sizes}});
}

}  // namespace lemma::ops
