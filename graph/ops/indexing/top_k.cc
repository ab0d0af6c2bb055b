// The largest or smallest elements along an axis. Sorting is stated by counting: an element's rank
// is the number of elements that come before it.
#include <functional>

#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// Whether `a` is before `b` in the order of values, apart from their places. NaN counts as larger
// than any number.
ScalarExpr Precedes(const ScalarExpr& a, const ScalarExpr& b, bool largest, bool is_float) {
  const ScalarExpr &less = largest ? b : a, &more = largest ? a : b;
  const ScalarExpr plain = Apply(ScalarFn::kLess, less, more);
  if (!is_float) return plain;
  const ScalarExpr nan = Apply(ScalarFn::kAnd, Apply(ScalarFn::kIsNan, more),
                               Apply(ScalarFn::kNot, Apply(ScalarFn::kIsNan, less)));
  return Apply(ScalarFn::kOr, plain, nan);
}

absl::Status DefineTopK(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(const int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  const IndexExpr &k = c.Size("k"), &size = c.Dim(0, axis);
  LEMMA_REQUIRE(c, Ge(k, 0) && Le(k, size), "k is ", k.ToString(), ", axis ", axis, " has ",
                size.ToString(), " elements");
  const bool largest = c.Int("largest") != 0, is_float = IsFloat(c.dtype(0));
  auto read = [&](Idx at, const IndexExpr& i) {
    at[axis] = i;
    return c.Read(0, std::move(at));
  };
  const TensorId rank = c.Local(DType::kI64, c.dims(0), [&](const Idx& at) {
    return c.Sum({size}, [&](const Idx& r) {
      const ScalarExpr other = read(at, r[0]), x = c.Read(0, at);
      const ScalarExpr earlier =
          Apply(ScalarFn::kLess, ScalarExpr::Index(r[0]), ScalarExpr::Index(at[axis]));
      const ScalarExpr tie = Apply(ScalarFn::kAnd, earlier,
                                   Apply(ScalarFn::kNot, Precedes(x, other, largest, is_float)));
      return Apply(ScalarFn::kOr, Precedes(other, x, largest, is_float), tie);
    });
  });
  Idx dims = c.dims(0);
  dims[axis] = k;
  // The sum over the one element of rank out[axis].
  auto chosen = [&](const Idx& out, const std::function<ScalarExpr(const IndexExpr&)>& of) {
    return c.Sum({size}, [&](const Idx& i) {
      Idx at = out;
      at[axis] = i[0];
      const ScalarExpr here =
          Apply(ScalarFn::kEqual, c.Read(rank, std::move(at)), ScalarExpr::Index(out[axis]));
      return Apply(ScalarFn::kWhere, here, of(i[0]), 0);
    });
  };
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    return chosen(out, [&](const IndexExpr& i) { return read(out, i); });
  });
  c.Output(DType::kI64, dims, [&](const Idx& out) {
    return chosen(out, [](const IndexExpr& i) { return ScalarExpr::Index(i); });
  });
  return absl::OkStatus();
}

// dx[…,i,…] = sum(j with indices[…,j,…] = i) dvalues[…,j,…].
std::vector<Value> TopKGradient(GradientBuilder& f) {
  const Value& x = f.Input(0);
  return {f.Op("scatter_elements", {f.Filled(x.type(), 0), f.Output(1), f.ResultGradient(0)},
               {{"axis", f.node().Int("axis")}, {"reduction", std::string("add")}})};
}

// k is an attribute before operator set 10 and an input since then; the order can be chosen from
// 11 on. Elements are sorted even where a node leaves their order open.
absl::StatusOr<std::vector<Value>> ImportTopK(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -1));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  int64_t k = 0, largest = 1;
  if (node.opset() < 10) {
    LEMMA_ASSIGN_OR_RETURN(k, node.Int("k"));
  } else {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
    if (given.size() != 1) return absl::InvalidArgumentError("k must be one number");
    k = given.AtInt(0);
  }
  if (node.opset() >= 11) {
    LEMMA_ASSIGN_OR_RETURN(largest, node.Int("largest", 1));
    LEMMA_RETURN_IF_ERROR(node.Int("sorted", 1).status());
  }
  return node.Ops("top_k", {x}, {{"k", k}, {"axis", axis}, {"largest", largest}});
}

absl::Status ExportTopK(OnnxExport& out) {
  const Node& node = out.node();
  const bool narrow = node.type(0).dtype == DType::kBF16;  // which ONNX cannot sort
  std::string x = out.Input(0), values = out.Output(0);
  if (narrow) {
    x = out.Temporary();
    values = out.Temporary();
    out.Emit("Cast", {out.Input(0)}, {x}, {{"to", ToOnnxNumber(DType::kF32)}});
  }
  out.Emit("TopK", {x, out.Constant(Tensor::Ints({node.Int("k")}))}, {values, out.Output(1)},
           {{"axis", node.Int("axis")}, {"largest", node.Int("largest")}, {"sorted", int64_t{1}}});
  if (narrow) {
    out.Emit("Cast", {values}, {out.Output(0)}, {{"to", ToOnnxNumber(DType::kBF16)}});
  }
  return absl::OkStatus();
}

}  // namespace

OpDef Make_top_k() {
  OpDef op;
  op.name = "top_k";
  op.group = "data-dependent";
  op.equation =
      "values[…,j,…] = x[…,i,…], indices[…,j,…] = i, for the i that exactly j positions r precede "
      "in sorted order; r precedes i if x[…,r,…] > x[…,i,…], or x[…,r,…] = x[…,i,…] and r < i";
  op.doc =
      "The results are sorted; among equal elements, the one with the lower index is first. NaN "
      "counts as larger than any number.";
  op.input_names = {"x"};
  op.attrs = {
      {"k", AttrKind::kInt, std::nullopt, true, "number of elements taken"},
      {"axis", AttrKind::kInt, int64_t{-1}, false, "the axis along which elements are compared"},
      {"largest", AttrKind::kInt, int64_t{1}, false, "0: the smallest elements"}};
  op.define = DefineTopK;
  op.gradient = TopKGradient;
  op.examples = {"(f32[2,5]) {k = 3}", "(f32[4,2]) {k = 4, axis = 0, largest = 0}",
                 "(i64[3,6]) {k = 2, axis = 1}", "(f32[3]) {k = 0}",
                 "(f32[2,3,4]) {k = 2, axis = -2}"};
  op.onnx_import = {{"TopK", ImportTopK}};
  op.onnx_export = ExportTopK;
  return op;
}

}  // namespace lemma::ops
