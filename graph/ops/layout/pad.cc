#include <algorithm>

#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/axis_map.h"
#include "graph/ops/checks.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// Computes which element of x element `i` of the padded axis comes from. The case is decided
// separately for each dimension, so that every read is provably inside x.
class Padding {
 public:
  Padding(const OpContext& c, const Idx& pads) : c_(c), pads_(pads) {}

  // y[i…] = x[mirrored(i - before) …], mirrored at the first and the last element.
  ScalarExpr Reflected(const Idx& out, Idx at = {}) const {
    const size_t d = at.size();
    if (d == out.size()) return c_.Read(0, std::move(at));
    const IndexExpr i = out[d] - pads_[d];
    const IndexExpr& size = c_.Dim(0, static_cast<int>(d));
    auto rest = [&](const IndexExpr& position) {
      Idx next = at;
      next.push_back(position);
      return Reflected(out, std::move(next));
    };
    ScalarExpr result = rest(i);
    if (Pads(pads_[pads_.size() / 2 + d])) {
      result = ScalarExpr::Select(Lt(i, size), result, rest(2 * (size - 1) - i));
    }
    if (Pads(pads_[d])) result = ScalarExpr::Select(Lt(i, 0), rest(-i), result);
    return result;
  }

  // y[i…] = x[min(max(i - before, 0), size - 1) …].
  ScalarExpr Clamped(const Idx& out) const {
    Idx at;
    for (size_t d = 0; d < out.size(); ++d) {
      at.push_back(Min(Max(out[d] - pads_[d], 0), c_.Dim(0, static_cast<int>(d)) - 1));
    }
    return c_.Read(0, std::move(at));
  }

  // y[i…] = x[i - before …], a constant outside.
  ScalarExpr Constant(const Idx& out, const ScalarExpr& value) const {
    Idx at;
    for (size_t d = 0; d < out.size(); ++d) at.push_back(out[d] - pads_[d]);
    return c_.ReadOr(0, std::move(at), value);
  }

 private:
  // False for a pad of 0 or less, which adds nothing.
  static bool Pads(const IndexExpr& pad) { return !pad.is_const() || pad.value() > 0; }

  const OpContext& c_;
  const Idx& pads_;
};

absl::Status DefinePad(OpContext& c) {
  const int rank = c.rank(0);
  const Idx& pads = c.Sizes("pads");
  const std::string& mode = c.String("mode");
  LEMMA_REQUIRE(c, mode == "constant" || mode == "reflect" || mode == "edge", "mode is ", mode,
                "; it may be constant, reflect or edge");
  LEMMA_REQUIRE(c, static_cast<int>(pads.size()) == 2 * rank, "pads takes ", 2 * rank,
                " entries: before each dimension, then after each");
  Idx dims;
  for (int d = 0; d < rank; ++d) {
    const IndexExpr &size = c.Dim(0, d), &before = pads[d], &after = pads[rank + d];
    dims.push_back(size + before + after);
    LEMMA_REQUIRE(c, Ge(dims.back(), 0), "more than dimension ", d, " is cut off");
    if (mode == "reflect") {
      LEMMA_REQUIRE(c, Lt(before, size) && Lt(after, size), "dimension ", d, " of size ",
                    size.ToString(), " is too short to be mirrored by ", before.ToString(), " and ",
                    after.ToString());
    }
    if (mode == "edge") LEMMA_REQUIRE(c, Ge(size, 1), "dimension ", d, " has no edge");
  }
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    Padding padding(c, pads);
    if (mode == "reflect") return padding.Reflected(out);
    if (mode == "edge") return padding.Clamped(out);
    return padding.Constant(out, c.Real("value"));
  });
  return absl::OkStatus();
}

// For constant padding: dx[i…] = dy[before + i …], and 0 where x was cropped. Otherwise (mirrored
// or extended) y is linear in x along each dimension: dx = dy * Mᵀ, where M is the operator's
// result for the identity matrix.
std::vector<Value> PadGradient(GradientBuilder& f) {
  const std::vector<int64_t>& pads = f.node().Ints("pads");
  const size_t rank = pads.size() / 2;
  Value dx = f.ResultGradient();
  if (f.node().String("mode") == "constant") {
    std::vector<int64_t> negative = pads;
    for (int64_t& pad : negative) pad = -pad;
    return {dx.shape() == f.Input(0).shape() ? dx : f.Op("pad", {dx}, {{"pads", negative}})};
  }
  for (size_t d = 0; d < rank; ++d) {
    if (pads[d] == 0 && pads[rank + d] == 0) continue;
    Attrs attrs = f.node().attrs();
    attrs["pads"] = std::vector<int64_t>{0, pads[d], 0, pads[rank + d]};
    const Value identity = Identity(f, dx.dtype(), f.Input(0).shape()[d]);
    dx = TransposedAlongAxis(f, dx, static_cast<int64_t>(d), f.Op("pad", {identity}, attrs));
  }
  return {dx};
}

// The element of an axis of `size` that is at position i of the axis continued without end: by
// copies, or by copies that are mirrored at the first and the last element.
int64_t Continued(int64_t i, int64_t size, bool mirrored) {
  const int64_t period = mirrored ? std::max<int64_t>(2 * (size - 1), 1) : size;
  const int64_t at = (i % period + period) % period;
  return at < size ? at : period - at;
}

// Pads by copies of x, or by mirrored copies where these are longer than x: gathers along each
// axis.
absl::StatusOr<Value> PadByGathers(OnnxImport& node, Value y, const std::vector<int64_t>& pads,
                                   bool mirrored) {
  const size_t rank = pads.size() / 2;
  for (size_t d = 0; d < rank; ++d) {
    const int64_t before = pads[d], after = pads[rank + d], size = y.shape()[d];
    if (before == 0 && after == 0) continue;
    constexpr int64_t kMost = int64_t{1} << 26;
    if (std::max({before, after, size}) > kMost) return node.Unsupported("axes this long");
    if (size < 1 || before < -size || after < -size || before + size + after < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "dimension ", d, " of size ", size, " cannot be padded by ", before, " and ", after));
    }
    std::vector<int64_t> from;
    for (int64_t i = -before; i < size + after; ++i) from.push_back(Continued(i, size, mirrored));
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("gather", {y, node.Constant(Tensor::Ints(from))},
                                      {{"axis", static_cast<int64_t>(d)}}));
  }
  return y;
}

// Pads by a value that is computed.
absl::StatusOr<Value> PadByValue(OnnxImport& node, const Value& x, const std::vector<int64_t>& pads,
                                 Value value) {
  if (value.type().num_elements() != 1) {
    return absl::InvalidArgumentError("the value must be a scalar");
  }
  if (x.type().num_elements() > (int64_t{1} << 28)) {
    return node.Unsupported("a computed value around a tensor this large");
  }
  LEMMA_ASSIGN_OR_RETURN(value, Reshape(node, value, {}));
  LEMMA_ASSIGN_OR_RETURN(const Tensor ones, Tensor::Filled({DType::kI32, x.shape()}, 1));
  LEMMA_ASSIGN_OR_RETURN(const Value mark, node.Op("pad", {node.Constant(ones)}, {{"pads", pads}}));
  LEMMA_ASSIGN_OR_RETURN(const Value inside,
                         node.Op("cast", {mark}, {{"dtype", std::string("bool")}}));
  LEMMA_ASSIGN_OR_RETURN(const Value padded, node.Op("pad", {x}, {{"pads", pads}}));
  return node.Op("where", {inside, padded, value});
}

// Whether a symbolic size may be padded so, other than by a constant. It need not be longer than an
// extension by its ends.
bool MayBePadded(OnnxImport& node, const std::string& mode, int64_t size, int64_t before,
                 int64_t after) {
  if (before == 0 && after == 0) return true;
  if (mode == "wrap" || IsSymbolic({before, after})) return false;
  const int64_t least = mode == "reflect" ? std::max(before, after) + 1 : 1;
  return node.IsAtLeast(size, least, OnnxImport::ShorterMeans::kAnError);
}

// Pads and value are attributes before operator set 11 and inputs since then; from 18 on, axes can
// be chosen.
absl::StatusOr<std::vector<Value>> ImportPad(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(std::string mode, node.String("mode", "constant"));
  std::vector<int64_t> given, axes;
  double value = 0;
  Value computed;
  if (node.opset() < 11) {
    LEMMA_ASSIGN_OR_RETURN(given, node.Ints(node.opset() < 2 ? "paddings" : "pads"));
    LEMMA_ASSIGN_OR_RETURN(value, node.Float("value", 0));
  } else {
    LEMMA_ASSIGN_OR_RETURN(Tensor constant, node.ConstantInput(1));
    given = constant.ToInts();
    if (node.HasInput(2)) {
      LEMMA_ASSIGN_OR_RETURN(computed, node.Input(2));
      auto fill = node.OwnConstantInput(2);
      if (fill.ok()) {
        if (fill->size() != 1) return absl::InvalidArgumentError("the value must be a scalar");
        value = fill->AtDouble(0);
        computed = Value();
      }
    }
  }
  const size_t rank = x.shape().size();
  if (node.HasInput(3)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor constant, node.ConstantInput(3));
    axes = constant.ToInts();
  } else {
    for (size_t d = 0; d < rank; ++d) axes.push_back(static_cast<int64_t>(d));
  }
  if (given.size() != 2 * axes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pads has ", given.size(), " entries, not ", 2 * axes.size()));
  }
  std::vector<int64_t> pads(2 * rank, 0);
  bool moves = false, far = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(int64_t axis, NormalizeOnnxAxis(axes[i], static_cast<int>(rank)));
    pads[axis] = given[i];
    pads[rank + axis] = given[axes.size() + i];
    moves = moves || pads[axis] != 0 || pads[rank + axis] != 0;
    if (mode != "constant" && IsSymbolic(x.shape()) &&
        !MayBePadded(node, mode, x.shape()[axis], pads[axis], pads[rank + axis])) {
      return node.Unsupported(absl::StrCat("mode ", mode, " around the symbolic sizes ",
                                           ToString(x.shape()),
                                           mode == "reflect" ? ", which may be shorter" : ""));
    }
    far = far || std::max(pads[axis], pads[rank + axis]) >= x.shape()[axis];
  }
  if (!moves) return std::vector<Value>{x};
  if (mode == "wrap" || (mode == "reflect" && far)) {
    LEMMA_ASSIGN_OR_RETURN(const Value y, PadByGathers(node, x, pads, mode == "reflect"));
    return std::vector<Value>{y};
  }
  if (mode == "constant" && computed) {
    LEMMA_ASSIGN_OR_RETURN(const Value y, PadByValue(node, x, pads, computed));
    return std::vector<Value>{y};
  }
  return node.Ops("pad", {x}, {{"pads", pads}, {"mode", mode}, {"value", value}});
}

absl::Status ExportPad(OnnxExport& out) {
  const Node& node = out.node();
  LEMMA_ASSIGN_OR_RETURN(Tensor value,
                         Tensor::Filled({node.type(0).dtype, {}}, node.Float("value")));
  const std::string& mode = node.String("mode");
  std::vector<std::string> inputs = {out.Input(0), out.Constant(Tensor::Ints(node.Ints("pads")))};
  if (mode == "constant") inputs.push_back(out.Constant(std::move(value)));
  out.Emit("Pad", std::move(inputs), {out.Output(0)}, {{"mode", mode}});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_pad() {
  OpDef op;
  op.name = "pad";
  op.group = "layout";
  op.equation = "y[i…] = x[i - before …]; outside x: value, or x mirrored, or x's nearest element";
  op.doc =
      "Negative pads cut elements off. `reflect` does not repeat the element at which it mirrors.";
  op.input_names = {"x"};
  op.attrs = {
      {"pads", AttrKind::kInts, std::nullopt, true,
       "elements before each dimension, then after each"},
      {"mode", AttrKind::kString, std::string("constant"), false, "constant, reflect or edge"},
      {"value", AttrKind::kFloat, 0.0, true,
       "value of the elements outside x, with mode constant"}};
  op.define = DefinePad;
  op.gradient = PadGradient;
  op.examples = {"(f32[2,3]) {pads = [1,0,2,1]}",
                 "(f32[2,3]) {pads = [0,1,1,0], value = 0.5}",
                 "(f32[2,4]) {pads = [0,3,0,2], mode = \"reflect\"}",
                 "(f32[3,4]) {pads = [1,-1,2,3], mode = \"reflect\"}",
                 "(f32[2,3]) {pads = [2,1,0,4], mode = \"edge\"}",
                 "(f32[4,5]) {pads = [-1,2,0,-2]}",
                 "(i64[3]) {pads = [1,1], value = 7.0}"};
  op.onnx_import = {{"Pad", ImportPad}};
  op.onnx_export = ExportPad;
  return op;
}

}  // namespace lemma::ops
