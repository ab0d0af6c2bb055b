#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise.h"
#include "graph/ops/indexing/positions.h"

namespace lemma::ops {
namespace {

// y[b…,k,a…] = values[1] if indices[b…,a…] = k, otherwise values[0].
absl::Status DefineOneHot(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireDType(c, 0, Accepts::kNumber));
  LEMMA_ASSIGN_OR_RETURN(const int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0) + 1));
  LEMMA_RETURN_IF_ERROR(RequireVector(c, 1, "values", 2));
  const IndexExpr& depth = c.Size("depth");
  LEMMA_REQUIRE(c, Ge(depth, 0), "depth must not be negative");
  Idx dims = c.dims(0);
  dims.insert(dims.begin() + axis, depth);
  c.Output(c.dtype(1), dims, [&](const Idx& out) {
    Idx at = out;
    at.erase(at.begin() + axis);
    ScalarExpr hit = Apply(ScalarFn::kEqual, Wrapped(c.Read(0, std::move(at)), depth),
                           ScalarExpr::Index(out[axis]));
    return Apply(ScalarFn::kWhere, hit, c.Read(1, {1}), c.Read(1, {0}));
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ImportOneHot(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value indices, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor depth, node.ConstantInput(1));
  LEMMA_ASSIGN_OR_RETURN(Value values, node.Input(2));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -1));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, indices.type().rank() + 1));
  if (depth.size() != 1) return absl::InvalidArgumentError("depth must be a scalar");
  return node.Ops("one_hot", {indices, values}, {{"depth", depth.AtInt(0)}, {"axis", axis}});
}

// ONNX's indices have at least one dimension; the dimension added to a scalar is removed again.
absl::Status ExportOneHot(OnnxExport& out) {
  for (const Value& input : out.node().inputs()) {
    if (input.dtype() == DType::kBF16) {
      return absl::UnimplementedError("ONNX's one_hot does not take bf16");
    }
  }
  const int64_t depth = out.node().Int("depth");
  const std::string depths = out.Constant(Tensor::Ints({depth}));
  if (out.node().inputs()[0].type().rank() > 0) {
    out.Emit("OneHot", {out.Input(0), depths, out.Input(1)}, {out.Output(0)},
             {{"axis", out.node().Int("axis")}});
    return absl::OkStatus();
  }
  const std::string index = out.Temporary(), row = out.Temporary();
  out.Emit("Reshape", {out.Input(0), out.Constant(Tensor::Ints({1}))}, {index});
  out.Emit("OneHot", {index, depths, out.Input(1)}, {row}, {{"axis", int64_t{-1}}});
  out.Emit("Squeeze", {row, out.Constant(Tensor::Ints({0}))}, {out.Output(0)});
  return absl::OkStatus();
}

// dvalues[1] = sum(b…,k,a… with indices[b…,a…] = k) dy[b…,k,a…], dvalues[0] = sum of the others.
std::vector<Value> OneHotGradient(GradientBuilder& f) {
  const Value &dy = f.ResultGradient(), &values = f.Input(1);
  const std::vector<int64_t> all = AxesBut(dy.type().rank());
  auto sum_where = [&](double off, double on) {
    const Value mark = f.Constant(Tensor::FromDoubles(values.type(), {off, on}));
    return f.Reshape(f.Sum(f.Mul(dy, f.Again({f.Input(0), mark})), all), {1});
  };
  return {Value(), f.Concat({sum_where(1, 0), sum_where(0, 1)}, 0)};
}

}  // namespace

OpDef Make_one_hot() {
  OpDef op;
  op.name = "one_hot";
  op.group = "data-dependent";
  op.equation = "y[b…,k,a…] = values[1] if indices[b…,a…] = k, otherwise values[0]";
  op.doc = "A negative index counts from the end; one outside [-depth, depth) matches nothing.";
  op.input_names = {"indices", "values"};
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {{"depth", AttrKind::kInt, std::nullopt, true, "size of the new dimension"},
              {"axis", AttrKind::kInt, int64_t{-1}, false, "position of the new dimension in y"}};
  op.define = DefineOneHot;
  op.gradient = OneHotGradient;
  op.examples = {"(i64[3], f32[2]) {depth = 4}", "(i64[2,3], f32[2]) {depth = 3, axis = 1}",
                 "(i32[], i64[2]) {depth = 2, axis = 0}",
                 "(f32[2], f32[2]) {depth = 5, axis = -2}"};
  op.onnx_import = {{"OneHot", ImportOneHot}};
  op.onnx_export = ExportOneHot;
  return op;
}

}  // namespace lemma::ops
