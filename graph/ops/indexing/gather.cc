// Reads at positions given by other tensors.
#include <algorithm>

#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise/elementwise.h"
#include "graph/ops/indexing/positions.h"

namespace lemma::ops {
namespace {

// y[b…,j…,a…] = x[b…, indices[j…], a…].
absl::Status DefineGather(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  LEMMA_ASSIGN_OR_RETURN(const int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  const int chosen = c.rank(1);
  Idx dims(c.dims(0).begin(), c.dims(0).begin() + axis);
  dims.insert(dims.end(), c.dims(1).begin(), c.dims(1).end());
  dims.insert(dims.end(), c.dims(0).begin() + axis + 1, c.dims(0).end());
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    Idx at(out.begin(), out.begin() + axis);
    Idx which(out.begin() + axis, out.begin() + axis + chosen);
    at.push_back(Position(c.Read(1, std::move(which)), c.Dim(0, axis)));
    at.insert(at.end(), out.begin() + axis + chosen, out.end());
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

// y[…,i,…] = x[…, indices[…,i,…], …].
absl::Status DefineGatherElements(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  LEMMA_ASSIGN_OR_RETURN(const int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  LEMMA_REQUIRE(c, c.rank(1) == c.rank(0), "indices must have rank ", c.rank(0), ", as x");
  for (int d = 0; d < c.rank(0); ++d) {
    if (d == axis) continue;
    LEMMA_REQUIRE(c, Le(c.Dim(1, d), c.Dim(0, d)), "indices are larger than x in dimension ", d);
  }
  c.Output(c.dtype(0), c.dims(1), [&](const Idx& out) {
    Idx at = out;
    at[axis] = Position(c.Read(1, out), c.Dim(0, axis));
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

// y[b…,j…,a…] = x[b…, indices[b…,j…,0], indices[b…,j…,1], …, a…].
absl::Status DefineGatherNd(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  const int64_t batch = c.Int("batch_dims");
  LEMMA_REQUIRE(c, c.rank(1) >= 1 && batch >= 0 && batch < c.rank(1) && batch < c.rank(0),
                "batch_dims must be at least 0 and below both ranks");
  const IndexExpr& width = c.Dim(1, c.rank(1) - 1);
  LEMMA_REQUIRE(c, width.is_const() && width.value() >= 1 && width.value() <= c.rank(0) - batch,
                "the last dimension of indices must be a number of dimensions of x, from 1 to ",
                c.rank(0) - batch);
  for (int d = 0; d < batch; ++d) {
    LEMMA_REQUIRE(c, Eq(c.Dim(0, d), c.Dim(1, d)), "batch dimension ", d, " differs");
  }
  const int chosen = c.rank(1) - 1;
  const int after = static_cast<int>(batch + width.value());
  Idx dims(c.dims(1).begin(), c.dims(1).begin() + chosen);
  dims.insert(dims.end(), c.dims(0).begin() + after, c.dims(0).end());
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    Idx at(out.begin(), out.begin() + batch);
    for (int64_t k = 0; k < width.value(); ++k) {
      Idx which(out.begin(), out.begin() + chosen);
      which.push_back(k);
      at.push_back(Position(c.Read(1, std::move(which)), c.Dim(0, static_cast<int>(batch + k))));
    }
    at.insert(at.end(), out.begin() + chosen, out.end());
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

std::function<absl::StatusOr<std::vector<Value>>(OnnxImport&)> ImportAlongAxis(std::string our_op) {
  return [our_op](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
    LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
    LEMMA_ASSIGN_OR_RETURN(Value indices, node.Input(1));
    LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
    return node.Ops(our_op, {x, indices}, {{"axis", axis}});
  };
}

// Selects the elements along an axis, or of all of x, where a condition known at import holds.
absl::StatusOr<std::vector<Value>> ImportCompress(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor condition, node.ConstantInput(1));
  int64_t axis = 0;
  if (node.FindAttr("axis") == nullptr) {
    LEMMA_ASSIGN_OR_RETURN(x, Reshape(node, x, {x.type().num_elements()}));
  } else {
    LEMMA_ASSIGN_OR_RETURN(axis, node.Int("axis"));
    LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, x.type().rank()));
  }
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < std::min(condition.size(), x.shape()[axis]); ++i) {
    if (condition.AtInt(i) != 0) kept.push_back(i);
  }
  return node.Ops("gather", {x, node.Constant(Tensor::Ints(kept))}, {{"axis", axis}});
}

// y[t,b,a…] = x[lengths[b] - 1 - t, b, a…] if t < lengths[b], otherwise x[t,b,a…].
absl::Status DefineReverseSequence(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequirePositions(c, 1));
  const int64_t time = c.Int("time_axis"), batch = c.Int("batch_axis");
  LEMMA_REQUIRE(c, c.rank(0) >= 2 && (time == 0 || time == 1) && batch == 1 - time,
                "time_axis and batch_axis must be 0 and 1, x of rank 2 or more");
  LEMMA_RETURN_IF_ERROR(RequireVector(c, 1, "lengths", c.Dim(0, static_cast<int>(batch))));
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    ScalarExpr length = c.Read(1, {out[batch]}), t = ScalarExpr::Index(out[time]);
    ScalarExpr from =
        Apply(ScalarFn::kWhere, Apply(ScalarFn::kLess, t, length), length - ScalarExpr(1) - t, t);
    Idx at = out;
    at[time] = IndexExpr::Load(from.node());
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

// dx[b…,k,a…] = sum(j… with indices[j…] = k) dy[b…,j…,a…]: adds into zeros, with k as the first
// axis.
std::vector<Value> GatherGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &indices = f.Input(1), &dy = f.ResultGradient();
  const int64_t rank = x.type().rank(), chosen = indices.type().rank();
  const int64_t axis = (f.node().Int("axis") + rank) % rank, count = indices.type().num_elements();
  std::vector<int64_t> first = {axis}, which;
  for (int64_t d = axis; d < axis + chosen; ++d) which.push_back(d);
  for (int64_t d : AxesBut(rank, {axis})) first.push_back(d);
  for (int64_t d : AxesBut(dy.type().rank(), which)) which.push_back(d);
  std::vector<int64_t> back(rank);
  Shape rows = {count}, shape;
  for (int64_t d = 0; d < rank; ++d) {
    back[first[d]] = d;
    shape.push_back(x.shape()[first[d]]);
    if (d > 0) rows.push_back(shape.back());
  }
  const Value updates = f.Reshape(f.Transpose(dy, which), rows);
  const Value sums =
      f.Op("scatter_nd", {f.Filled({x.dtype(), shape}, 0), f.Reshape(indices, {count, 1}), updates},
           {{"reduction", std::string("add")}});
  return {f.Transpose(sums, back), Value()};
}

// dx[…,k,…] = sum(i with indices[…,i,…] = k) dy[…,i,…].
std::vector<Value> GatherElementsGradient(GradientBuilder& f) {
  const Value& x = f.Input(0);
  return {f.Op("scatter_elements", {f.Filled(x.type(), 0), f.Input(1), f.ResultGradient()},
               {{"axis", f.node().Int("axis")}, {"reduction", std::string("add")}}),
          Value()};
}

// The same for whole positions. With batch dimensions, the batch numbers are put in front of the
// positions.
std::vector<Value> GatherNdGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &indices = f.Input(1);
  const int64_t last = indices.type().rank() - 1;
  std::vector<Value> columns;
  for (int64_t d = 0; d < f.node().Int("batch_dims"); ++d) {
    Shape shape(last + 1, 1), whole = indices.shape();
    shape[d] = x.shape()[d];
    whole[last] = 1;
    std::vector<int64_t> numbers = AxesBut(x.shape()[d]);
    const Value column = f.Constant(Tensor::FromInts({indices.dtype(), shape}, numbers));
    columns.push_back(f.Expand(column, whole));
  }
  columns.push_back(indices);
  return {f.Op("scatter_nd", {f.Filled(x.type(), 0), f.Concat(columns, last), f.ResultGradient()},
               {{"reduction", std::string("add")}}),
          Value()};
}

const char kNegative[] = "A negative index counts from the end.";

AttrSpec Axis() {
  return {"axis", AttrKind::kInt, int64_t{0}, false, "the axis of x that is indexed"};
}

}  // namespace

OpDef Make_gather() {
  OpDef op;
  op.name = "gather";
  op.group = "data-dependent";
  op.equation = "y[b…,j…,a…] = x[b…, indices[j…], a…]";
  op.doc = kNegative;
  op.input_names = {"x", "indices"};
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {Axis()};
  op.define = DefineGather;
  op.gradient = GatherGradient;
  op.examples = {"(f32[3,2], i64[4])", "(f32[2,3,2], i64[2,2]) {axis = 1}",
                 "(f32[2,3], i32[]) {axis = -1}", "(i64[4], i64[0])"};
  op.onnx_import = {{"Gather", ImportAlongAxis("gather")}, {"Compress", ImportCompress}};
  op.onnx_export = ExportWithPositions(1, OnnxPositions(), ExportAs("Gather", {{"axis", "axis"}}));
  return op;
}

OpDef Make_gather_elements() {
  OpDef op;
  op.name = "gather_elements";
  op.group = "data-dependent";
  op.equation = "y[…,i,…] = x[…, indices[…,i,…], …]";
  op.doc = kNegative;
  op.input_names = {"x", "indices"};
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {Axis()};
  op.define = DefineGatherElements;
  op.gradient = GatherElementsGradient;
  op.examples = {"(f32[3,2], i64[2,2])", "(f32[3,4], i32[2,6]) {axis = 1}",
                 "(f32[2,3,2], i64[2,3,1]) {axis = -1}"};
  op.onnx_import = {{"GatherElements", ImportAlongAxis("gather_elements")}};
  op.onnx_export =
      ExportWithPositions(1, OnnxPositions(), ExportAs("GatherElements", {{"axis", "axis"}}));
  return op;
}

OpDef Make_gather_nd() {
  OpDef op;
  op.name = "gather_nd";
  op.group = "data-dependent";
  op.equation = "y[b…,j…,a…] = x[b…, indices[b…,j…,0], indices[b…,j…,1], …, a…]";
  op.doc = kNegative;
  op.input_names = {"x", "indices"};
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {{"batch_dims", AttrKind::kInt, int64_t{0}, false,
               "leading dimensions that x and indices have in common"}};
  op.define = DefineGatherNd;
  op.gradient = GatherNdGradient;
  op.examples = {"(f32[2,3], i64[4,2])", "(f32[2,3], i64[2,2,1])",
                 "(f32[2,3,4], i64[2,1]) {batch_dims = 1}", "(f32[2,3], i32[2])"};
  NameInOnnx(op, "GatherND", {{"batch_dims", "batch_dims"}});
  op.onnx_export = ExportWithPositions(1, {DType::kI64}, op.onnx_export);
  return op;
}

OpDef Make_reverse_sequence() {
  OpDef op;
  op.name = "reverse_sequence";
  op.group = "data-dependent";
  op.equation = "y[t,b,a…] = x[lengths[b] - 1 - t, b, a…] if t < lengths[b], otherwise x[t,b,a…]";
  op.doc = "t runs along time_axis and b along batch_axis.";
  op.input_names = {"x", "lengths"};
  op.min_inputs = op.max_inputs = 2;
  op.attrs = {{"time_axis", AttrKind::kInt, int64_t{0}, false, "0 or 1"},
              {"batch_axis", AttrKind::kInt, int64_t{1}, false, "the other of 0 and 1"}};
  op.define = DefineReverseSequence;
  // dx = reverse_sequence(dy): the permutation is its own inverse.
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{f.Again({f.ResultGradient(), f.Input(1)}), Value()};
  };
  op.examples = {"(f32[4,2], i64[2])", "(f32[2,3,2], i64[2]) {time_axis = 1, batch_axis = 0}"};
  NameInOnnx(op, "ReverseSequence", {{"time_axis", "time_axis"}, {"batch_axis", "batch_axis"}});
  op.onnx_export = [hook = ExportWithPositions(1, {DType::kI64}, op.onnx_export)](
                       OnnxExport& out) -> absl::Status {
    if (out.node().type(0).dtype != DType::kBF16) return hook(out);
    return absl::UnimplementedError("ONNX's reverse_sequence does not take bf16");
  };
  return op;
}

}  // namespace lemma::ops
