// Writes at positions given by other tensors, defined as sums over the updates of each element.
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/indexing/positions.h"

namespace lemma::ops {
namespace {

// How the updates of one element are combined with each other and with the element.
struct Reduction {
  ReduceKind kind;
  // What stands for an update that goes elsewhere; nullopt: the element itself.
  std::optional<double> neutral;
  std::optional<ScalarFn> with_old;  // nullopt: the updates replace the element
};

absl::StatusOr<Reduction> ReadReduction(const OpContext& c) {
  const std::string& name = c.String("reduction");
  if (name == "none") return Reduction{ReduceKind::kSum, 0, std::nullopt};
  if (name == "add") return Reduction{ReduceKind::kSum, 0, ScalarFn::kAdd};
  if (name == "mul") return Reduction{ReduceKind::kProd, 1, ScalarFn::kMul};
  if (name == "max") return Reduction{ReduceKind::kMax, std::nullopt, ScalarFn::kMax};
  if (name == "min") return Reduction{ReduceKind::kMin, std::nullopt, ScalarFn::kMin};
  return c.Fail(absl::StrCat("reduction is ", name, "; it may be none, add, mul, max or min"));
}

ScalarExpr Where(const ScalarExpr& test, const ScalarExpr& a, const ScalarExpr& b) {
  return Apply(ScalarFn::kWhere, test, a, b);
}

// The new value of an element that was `old`. For the updates r < extents, hits(r) is 1 if r goes
// to this element, and update(r) is its value.
ScalarExpr Combine(OpContext& c, const Reduction& how, const ScalarExpr& old, const Idx& extents,
                   const OpContext::Body& hits, const OpContext::Body& update) {
  const ScalarExpr other = how.neutral ? ScalarExpr(*how.neutral) : old;
  ScalarExpr updates =
      c.Reduce(how.kind, extents, [&](const Idx& r) { return Where(hits(r), update(r), other); });
  if (how.with_old) return Apply(*how.with_old, old, updates);
  return Where(c.Sum(extents, hits), updates, old);
}

ScalarExpr Equals(const ScalarExpr& position, const IndexExpr& index) {
  return Apply(ScalarFn::kEqual, position, ScalarExpr::Index(index));
}

// y[…,i,…] = the updates[…,r,…] with indices[…,r,…] = i if there are any, otherwise x[…,i,…].
absl::Status DefineScatterElements(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  LEMMA_ASSIGN_OR_RETURN(const Reduction how, ReadReduction(c));
  LEMMA_ASSIGN_OR_RETURN(const int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  LEMMA_REQUIRE(c, c.dtype(2) == c.dtype(0), "x and updates must have one element type");
  LEMMA_REQUIRE(c, c.rank(1) == c.rank(0) && c.rank(2) == c.rank(0),
                "x, indices and updates must have one rank");
  // Elements of x outside the indices' box keep their value.
  bool covers = true;
  for (int d = 0; d < c.rank(0); ++d) {
    LEMMA_REQUIRE(c, Eq(c.Dim(1, d), c.Dim(2, d)), "indices and updates differ in dimension ", d);
    if (d == axis || Identical(c.Dim(1, d), c.Dim(0, d))) continue;
    LEMMA_REQUIRE(c, Le(c.Dim(1, d), c.Dim(0, d)), "indices are larger than x in dimension ", d);
    covers = false;
  }
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    auto along_axis = [&](int input, const Idx& r) {
      Idx at = out;
      at[axis] = r[0];
      return c.Read(input, std::move(at));
    };
    auto hits = [&](const Idx& r) {
      return Equals(Wrapped(along_axis(1, r), c.Dim(0, axis)), out[axis]);
    };
    auto update = [&](const Idx& r) { return along_axis(2, r); };
    ScalarExpr old = c.Read(0, out);
    ScalarExpr result = Combine(c, how, old, {c.Dim(1, axis)}, hits, update);
    if (covers) return result;
    Guard inside = true;
    for (int d = 0; d < c.rank(0); ++d) {
      if (d != axis) inside = inside && Lt(out[d], c.Dim(1, d));
    }
    return ScalarExpr::Select(inside, result, old);
  });
  return absl::OkStatus();
}

// y[i…,a…] = the updates[r…,a…] with indices[r…,0] = i_0, indices[r…,1] = i_1, … if there are any,
// otherwise x[i…,a…].
absl::Status DefineScatterNd(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  LEMMA_ASSIGN_OR_RETURN(const Reduction how, ReadReduction(c));
  LEMMA_REQUIRE(c, c.dtype(2) == c.dtype(0), "x and updates must have one element type");
  LEMMA_REQUIRE(c, c.rank(1) >= 1, "indices must have rank 1 or more");
  const int rows = c.rank(1) - 1;
  const IndexExpr& width = c.Dim(1, rows);
  LEMMA_REQUIRE(c, width.is_const() && width.value() >= 1 && width.value() <= c.rank(0),
                "the last dimension of indices must be a number of dimensions of x, from 1 to ",
                c.rank(0));
  const int chosen = static_cast<int>(width.value());
  LEMMA_REQUIRE(c, c.rank(2) == rows + c.rank(0) - chosen, "updates must have rank ",
                rows + c.rank(0) - chosen);
  for (int d = 0; d < c.rank(2); ++d) {
    const IndexExpr& expected = d < rows ? c.Dim(1, d) : c.Dim(0, d - rows + chosen);
    LEMMA_REQUIRE(c, Eq(c.Dim(2, d), expected), "dimension ", d, " of updates must be ",
                  expected.ToString());
  }
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    auto hits = [&](const Idx& r) {
      ScalarExpr all = 1;
      for (int k = 0; k < chosen; ++k) {
        Idx at = r;
        at.push_back(k);
        ScalarExpr equal = Equals(Wrapped(c.Read(1, std::move(at)), c.Dim(0, k)), out[k]);
        all = k == 0 ? equal : Apply(ScalarFn::kAnd, all, equal);
      }
      return all;
    };
    auto update = [&](const Idx& r) {
      Idx at = r;
      at.insert(at.end(), out.begin() + chosen, out.end());
      return c.Read(2, std::move(at));
    };
    Idx extents(c.dims(1).begin(), c.dims(1).begin() + rows);
    return Combine(c, how, c.Read(0, out), extents, hits, update);
  });
  return absl::OkStatus();
}

// With the updates u of an element, and `gather` reading at the updates' positions:
//   none: dx = dy where nothing is written, 0 elsewhere; du = gather(dy)
//   add:  dx = dy, du = gather(dy)
//   mul:  dx = dy * prod(u), du = gather(dy * y) / u, which is undefined where u is 0
//   max, min: dy is shared by those of x and u that equal y.
std::vector<Value> ScatterGradient(GradientBuilder& f, const std::string& gather,
                                   const Attrs& where) {
  const Value &indices = f.Input(1), &updates = f.Input(2), &dy = f.ResultGradient();
  const std::string& reduction = f.node().String("reduction");
  auto read = [&](const Value& v) { return f.Op(gather, {v, indices}, where); };
  if (reduction == "add") return {dy, Value(), read(dy)};
  if (reduction == "mul") {
    return {f.Again({dy, indices, updates}), Value(), f.Div(read(f.Mul(dy, f.Output())), updates)};
  }
  if (reduction == "max" || reduction == "min") {
    const Value kept = f.Op("equal", {f.Input(0), f.Output()});
    const Value taken = f.Op("equal", {updates, read(f.Output())});
    Attrs add = f.node().attrs();
    add["reduction"] = std::string("add");
    const Value count = f.Op(f.node().op().name,
                             {f.Cast(kept, dy.dtype()), indices, f.Cast(taken, dy.dtype())}, add);
    const Value share = f.Div(dy, count);
    return {f.Where(kept, share, Value()), Value(), f.Where(taken, read(share), Value())};
  }
  return {f.Again({dy, indices, f.Filled(updates.type(), 0)}), Value(), read(dy)};
}

AttrSpec ReductionAttr() {
  return {"reduction", AttrKind::kString, std::string("none"), false,
          "none: updates replace; add, mul, max, min: they are combined with the element"};
}

const char kDuplicates[] =
    "A negative index counts from the end. With reduction none, the result is the sum of the "
    "updates if several go to one element; ONNX leaves this result open.";

// Writes the nodes of a scatter by max or min, which operator set 17 has not: for each position p
// of the axis, the extreme of x and of all updates, those that do not go to p replaced by x.
class ExtremeExport {
 public:
  explicit ExtremeExport(OnnxExport* out)
      : out_(*out),
        x_(out->node().inputs()[0].shape()),
        indices_(out->node().inputs()[1].shape()) {}

  absl::Status Elements() {
    const int64_t rank = out_.node().type(0).rank(), axis = (out_.node().Int("axis") + rank) % rank;
    std::string at = Wrapped(out_.Input(1), Number(x_[axis]), Number(0)), updates = out_.Input(2);
    // Outside their box there are no updates, as if these went behind the axis.
    Ints pads(2 * static_cast<size_t>(rank), 0);
    bool covers = true;
    for (int64_t d = 0; d < rank; ++d) {
      if (d == axis || indices_[d] == x_[d]) continue;
      pads[rank + d] = x_[d] - indices_[d];
      covers = false;
    }
    if (!covers) {
      LEMMA_ASSIGN_OR_RETURN(const Tensor zero, Tensor::Filled({Type(), {}}, 0));
      at = Emit("Pad", {at, List(pads), Number(x_[axis])});
      updates = Emit("Pad", {updates, List(pads), out_.Constant(zero)});
    }
    // [b…,p,r,a…]
    const std::string rows = List({axis}), columns = List({axis + 1});
    at = Emit("Unsqueeze", {at, rows});
    updates = Emit("Unsqueeze", {updates, rows});
    Shape shape(static_cast<size_t>(rank) + 1, 1);
    shape[axis] = x_[axis];
    const std::string hits = Emit("Equal", {at, Positions(shape)});
    return Combine(hits, updates, Emit("Unsqueeze", {out_.Input(0), columns}), axis + 1,
                   out_.Input(0), nullptr);
  }

  absl::Status Tuples() {
    const size_t width = static_cast<size_t>(indices_.back());
    // Tuples become places in x as a matrix, [places, elements].
    const Shape chosen(x_.begin(), x_.begin() + static_cast<std::ptrdiff_t>(width));
    const int64_t places = NumElements(chosen),
                  elements =
                      NumElements(Shape(x_.begin() + static_cast<std::ptrdiff_t>(width), x_.end()));
    const int64_t rows = NumElements(indices_) / indices_.back();
    Ints strides(width, 1);
    for (size_t d = width - 1; d > 0; --d) strides[d - 1] = strides[d] * chosen[d];
    const std::string tuples = Wrapped(out_.Input(1), List(chosen), Number(0));
    const std::string weighted = Emit("Mul", {tuples, List(strides)});
    const std::string place =
        Emit("ReduceSum", {weighted, List({static_cast<int64_t>(indices_.size()) - 1})},
             {{"keepdims", int64_t{0}}});
    const std::string hits =
        Emit("Equal", {Emit("Reshape", {place, List({1, rows, 1})}), Positions({places, 1, 1})});
    const std::string x = Emit("Reshape", {out_.Input(0), List({places, elements})});
    return Combine(hits, Emit("Reshape", {out_.Input(2), List({1, rows, elements})}),
                   Emit("Reshape", {out_.Input(0), List({places, 1, elements})}), 1, x, &x_);
  }

 private:
  using Ints = std::vector<int64_t>;

  // The extreme of x and, along `axis`, of the updates that hit; as `shape` if one is given.
  absl::Status Combine(const std::string& hits, const std::string& updates,
                       const std::string& repeated, int64_t axis, const std::string& x,
                       const Shape* shape) {
    const bool greatest = out_.node().String("reduction") == "max";
    const std::string candidates = Emit("Where", {hits, updates, repeated});
    const std::string extreme = Emit(greatest ? "ReduceMax" : "ReduceMin", {candidates},
                                     {{"axes", Ints{axis}}, {"keepdims", int64_t{0}}});
    const char* op = greatest ? "Max" : "Min";
    if (shape == nullptr) {
      out_.Emit(op, {x, extreme}, {out_.Output(0)});
    } else {
      out_.Emit("Reshape", {Emit(op, {x, extreme}), List(*shape)}, {out_.Output(0)});
    }
    return absl::OkStatus();
  }

  DType Type() const { return out_.node().type(0).dtype; }
  std::string Emit(const char* op, std::vector<std::string> inputs,
                   std::vector<std::pair<std::string, OnnxAttr>> attrs = {}) {
    std::string result = out_.Temporary();
    out_.Emit(op, std::move(inputs), {result}, std::move(attrs));
    return result;
  }
  std::string List(const Ints& values) { return out_.Constant(Tensor::Ints(values)); }
  std::string Number(int64_t value) { return out_.Constant(Tensor::Ints({value}).Reshaped({})); }
  std::string Positions(const Shape& shape) {
    Ints numbers;
    for (int64_t i = 0; i < NumElements(shape); ++i) numbers.push_back(i);
    return out_.Constant(Tensor::Ints(numbers).Reshaped(shape));
  }
  // Negative positions count from the end.
  std::string Wrapped(const std::string& indices, const std::string& sizes,
                      const std::string& zero) {
    const std::string wide = Emit("Cast", {indices}, {{"to", ToOnnxNumber(DType::kI64)}});
    return Emit("Where", {Emit("Less", {wide, zero}), Emit("Add", {wide, sizes}), wide});
  }

  OnnxExport& out_;
  const Shape &x_, &indices_;
};

ExportHook ExportScatter(ExportHook hook) {
  return [hook](OnnxExport& out) -> absl::Status {
    const Node& node = out.node();
    if (node.String("reduction") != "max" && node.String("reduction") != "min") return hook(out);
    if (node.inputs()[1].type().num_elements() == 0 || node.type(0).num_elements() == 0) {
      out.Emit("Identity", {out.Input(0)}, {out.Output(0)});
      return absl::OkStatus();
    }
    ExtremeExport extreme(&out);
    return node.IsOp("scatter_nd") ? extreme.Tuples() : extreme.Elements();
  };
}

bool IsZeros(const Value& v) {
  if (v.node().kind() != Node::Kind::kConstant) return false;
  for (int64_t i = 0; i < v.node().payload().size(); ++i) {
    if (v.node().payload().AtDouble(i) != 0) return false;
  }
  return true;
}

// Recognizes the exported form of max_pool2d_gradient: a sum into zeros at the positions of maxima,
// on vectors. Returns an empty value for anything else.
absl::StatusOr<Value> MaxPoolGradient(OnnxImport& node, const Value& x, const Value& indices,
                                      const Value& updates) {
  if (!indices.node().IsOp("reshape") || !IsFloat(x.dtype())) return Value();
  const Value& index = indices.node().inputs()[0];
  if (!index.node().IsOp("max_pool2d_index") || index.node().Int("column_major") != 0) {
    return Value();
  }
  const Value& pooled_from = index.node().inputs()[0];
  if (x.shape() != Shape{pooled_from.type().num_elements()} ||
      pooled_from.dtype() != updates.dtype() || !IsZeros(x)) {
    return Value();
  }
  Value dy = updates;
  if (dy.node().IsOp("reshape")) dy = dy.node().inputs()[0];
  LEMMA_ASSIGN_OR_RETURN(dy, Reshape(node, dy, index.shape()));
  Attrs attrs = index.node().attrs();
  attrs.erase("column_major");
  LEMMA_ASSIGN_OR_RETURN(Value dx, node.Op("max_pool2d_gradient", {pooled_from, dy}, attrs));
  return Reshape(node, dx, x.shape());
}

absl::StatusOr<std::vector<Value>> ImportScatterElements(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value indices, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(Value updates, node.Input(2));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(std::string reduction, node.String("reduction", "none"));
  if (reduction == "add") {
    LEMMA_ASSIGN_OR_RETURN(Value gradient, MaxPoolGradient(node, x, indices, updates));
    if (gradient) return std::vector<Value>{gradient};
  }
  return node.Ops("scatter_elements", {x, indices, updates},
                  {{"axis", axis}, {"reduction", reduction}});
}

}  // namespace

OpDef Make_scatter_elements() {
  OpDef op;
  op.name = "scatter_elements";
  op.group = "data-dependent";
  op.equation = "y[…,i,…] = updates[…,r,…] where indices[…,r,…] = i, elsewhere x[…,i,…]";
  op.doc = kDuplicates;
  op.input_names = {"x", "indices", "updates"};
  op.min_inputs = op.max_inputs = 3;
  op.attrs = {{"axis", AttrKind::kInt, int64_t{0}, false, "the axis of x that is indexed"},
              ReductionAttr()};
  op.define = DefineScatterElements;
  op.gradient = [](GradientBuilder& f) {
    return ScatterGradient(f, "gather_elements", {{"axis", f.node().Int("axis")}});
  };
  op.examples = {"(f32[3,3], i64[2,3], f32[2,3])",
                 "(f32[2,5], i64[1,2], f32[1,2]) {axis = 1}",
                 "(f32[4], i32[3], f32[3]) {axis = -1, reduction = \"add\"}",
                 "(f32[4], i64[3], f32[3]) {reduction = \"mul\"}",
                 "(f32[3,4], i64[2,6], f32[2,6]) {axis = 1, reduction = \"add\"}",
                 "(f32[3,3], i64[2,3], f32[2,3]) {reduction = \"max\"}",
                 "(i64[3], i64[4], i64[4]) {reduction = \"min\"}"};
  op.onnx_import = {{"ScatterElements", ImportScatterElements}, {"Scatter", ImportScatterElements}};
  op.onnx_export = ExportWithPositions(
      1, OnnxPositions(),
      ExportScatter(ExportAs("ScatterElements", {{"axis", "axis"}, {"reduction", "reduction"}})));
  return op;
}

OpDef Make_scatter_nd() {
  OpDef op;
  op.name = "scatter_nd";
  op.group = "data-dependent";
  op.equation = "y[i…,a…] = updates[r…,a…] where indices[r…,k] = i_k for all k, elsewhere x[i…,a…]";
  op.doc = kDuplicates;
  op.input_names = {"x", "indices", "updates"};
  op.min_inputs = op.max_inputs = 3;
  op.attrs = {ReductionAttr()};
  op.define = DefineScatterNd;
  op.gradient = [](GradientBuilder& f) { return ScatterGradient(f, "gather_nd", {}); };
  op.examples = {"(f32[4], i64[3,1], f32[3])",
                 "(f32[2,3,2], i64[2,2], f32[2,2])",
                 "(f32[2,2], i32[3,2], f32[3]) {reduction = \"add\"}",
                 "(f32[3,2], i64[1,1], f32[1,2]) {reduction = \"mul\"}",
                 "(f32[3,2,2], i64[4,1], f32[4,2,2]) {reduction = \"add\"}",
                 "(f32[3,2], i64[4,1], f32[4,2]) {reduction = \"min\"}",
                 "(f32[2,2], i32[3,2], f32[3]) {reduction = \"max\"}"};
  op.onnx_import = {ImportAs("ScatterND", "scatter_nd", {{"reduction", "reduction"}})};
  op.onnx_export = ExportWithPositions(
      1, {DType::kI64}, ExportScatter(ExportAs("ScatterND", {{"reduction", "reduction"}})));
  return op;
}

}  // namespace lemma::ops
