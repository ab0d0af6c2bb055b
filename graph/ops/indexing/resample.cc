// Weighted sums of elements at positions given by a tensor, along one axis.
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/axis_map.h"
#include "graph/ops/checks.h"
#include "graph/ops/indexing/positions.h"

namespace lemma::ops {
namespace {

// y[b…,i,a…] = sum(k) weights[i,k] * x[b…, indices[i,k], a…].
absl::Status DefineResample(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  LEMMA_REQUIRE(c, IsFloat(c.dtype(0)), "x must be floats, not ", Name(c.dtype(0)));
  LEMMA_REQUIRE(c, c.dtype(2) == c.dtype(0), "weights must be ", Name(c.dtype(0)), ", as x");
  LEMMA_ASSIGN_OR_RETURN(const int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  LEMMA_REQUIRE(c, c.rank(1) == 2 && c.rank(2) == 2, "indices and weights must be matrices");
  for (int d = 0; d < 2; ++d) {
    LEMMA_REQUIRE(c, Eq(c.Dim(1, d), c.Dim(2, d)), "indices and weights differ in dimension ", d);
  }
  Idx dims = c.dims(0);
  dims[axis] = c.Dim(1, 0);
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    return c.Sum({c.Dim(1, 1)}, [&](const Idx& k) {
      Idx at = out;
      at[axis] = Position(c.Read(1, {out[axis], k[0]}), c.Dim(0, axis));
      return c.Read(2, {out[axis], k[0]}) * c.Read(0, std::move(at));
    });
  });
  return absl::OkStatus();
}

int64_t AxisOf(const Node& node) {
  const int64_t rank = node.inputs()[0].type().rank();
  return (node.Int("axis") + rank) % rank;
}

// dx[b…,j,a…] = sum(i, k with indices[i,k] = j) weights[i,k] * dy[b…,i,a…];
// dweights[i,k] = sum(b…, a…) x[b…, indices[i,k], a…] * dy[b…,i,a…].
std::vector<Value> ResampleGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &indices = f.Input(1), &weights = f.Input(2);
  const Value& dy = f.ResultGradient();
  const int64_t axis = AxisOf(f.node());
  const Value identity = Identity(f, x.dtype(), x.shape()[axis]);
  const Value matrix = f.Op("resample", {identity, indices, weights}, {{"axis", int64_t{1}}});
  Shape rows = dy.shape();
  rows.insert(rows.begin() + axis + 1, 1);
  const Value taken = f.Op("gather", {x, indices}, {{"axis", axis}});
  const Value products = f.Mul(taken, f.Reshape(dy, rows));
  return {TransposedAlongAxis(f, dy, axis, matrix), Value(),
          f.Sum(products, AxesBut(products.type().rank(), {axis, axis + 1}))};
}

// Gather, Mul and ReduceSum.
absl::Status ExportResample(OnnxExport& out) {
  const Node& node = out.node();
  const int64_t axis = AxisOf(node), after = node.type(0).rank() - 1 - axis;
  std::vector<int64_t> ones;
  for (int64_t d = 0; d < after; ++d) ones.push_back(d + 2);
  const std::string taken = out.Temporary(), factors = out.Temporary(), terms = out.Temporary();
  out.Emit("Gather", {out.Input(0), out.Input(1)}, {taken}, {{"axis", axis}});
  if (after > 0) {
    out.Emit("Unsqueeze", {out.Input(2), out.Constant(Tensor::Ints(ones))}, {factors});
  }
  out.Emit("Mul", {taken, after > 0 ? factors : out.Input(2)}, {terms});
  out.Emit("ReduceSum", {terms, out.Constant(Tensor::Ints({axis + 1}))}, {out.Output(0)},
           {{"keepdims", int64_t{0}}});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_resample() {
  OpDef op;
  op.name = "resample";
  op.group = "data-dependent";
  op.equation = "y[b…,i,a…] = sum(k) weights[i,k] * x[b…, indices[i,k], a…]";
  op.doc =
      "Interpolation along one axis: every element of the result is a weighted sum of elements of "
      "x. A negative index counts from the end.";
  op.input_names = {"x", "indices", "weights"};
  op.min_inputs = op.max_inputs = 3;
  op.attrs = {{"axis", AttrKind::kInt, int64_t{0}, false, "the axis of x that is indexed"}};
  op.define = DefineResample;
  op.gradient = ResampleGradient;
  op.examples = {"(f32[3,2], i64[4,2], f32[4,2])",
                 "(f32[2,3,5], i32[6,1], f32[6,1]) {axis = 1}",
                 "(f32[2,3], i64[2,4], f32[2,4]) {axis = -1}",
                 "(f32[5], i64[3,2], f32[3,2])",
                 "(f32[2,19,4,5], i64[7,2], f32[7,2]) {axis = 1}",
                 "(f32[3], i64[0,2], f32[0,2])"};
  op.onnx_export = ExportWithPositions(1, OnnxPositions(), ExportResample);
  return op;
}

}  // namespace lemma::ops
