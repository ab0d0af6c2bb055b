// Running sums and products along an axis.
#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[…,i,…] = sum(k <= i) x[…,k,…], or the product; exclusive: k < i; reverse: k >= i, or k > i.
absl::Status DefineRunning(ReduceKind kind, OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  const IndexExpr& size = c.Dim(0, axis);
  const int exclusive = c.Int("exclusive") != 0;
  const bool reverse = c.Int("reverse") != 0;
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    const IndexExpr& i = out[axis];
    return c.Reduce(
        kind, {size},
        [&](const Idx& k) {
          Idx index = out;
          index[axis] = k[0];
          return c.Read(0, index);
        },
        [&](const Idx& k) { return reverse ? Ge(k[0], i + exclusive) : Le(k[0] + exclusive, i); });
  });
  return absl::OkStatus();
}

OnnxImporter ImportRunning(std::string onnx_type, std::string our_op) {
  return {std::move(onnx_type), [our_op](OnnxImport& node) -> absl::StatusOr<std::vector<Value>> {
            LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
            LEMMA_ASSIGN_OR_RETURN(Tensor axis, node.ConstantInput(1));
            if (axis.size() != 1) return absl::InvalidArgumentError("axis must be one number");
            Attrs attrs;
            LEMMA_ASSIGN_OR_RETURN(attrs["axis"],
                                   NormalizeOnnxAxis(axis.AtInt(0), x.type().rank()));
            LEMMA_ASSIGN_OR_RETURN(attrs["exclusive"], node.Int("exclusive", 0));
            LEMMA_ASSIGN_OR_RETURN(attrs["reverse"], node.Int("reverse", 0));
            return node.Ops(our_op, {x}, attrs);
          }};
}

// What cumsum and cumprod have in common.
OpDef Running(std::string name, ReduceKind kind) {
  OpDef op;
  op.name = std::move(name);
  op.group = "reduction";
  op.doc = "exclusive: over k < i; reverse: over k >= i; both: over k > i.";
  op.input_names = {"x"};
  op.attrs = {
      {"axis", AttrKind::kInt, int64_t{0}, false, "the axis i; a negative one counts from the end"},
      {"exclusive", AttrKind::kInt, int64_t{0}, false, "1: without x at i"},
      {"reverse", AttrKind::kInt, int64_t{0}, false, "1: from i to the end"}};
  op.define = [kind](OpContext& c) { return DefineRunning(kind, c); };
  op.examples = {"(f32[5])",
                 "(f32[2,3,4]) {axis = 1, exclusive = 1}",
                 "(f32[3,4]) {axis = -1, reverse = 1}",
                 "(i64[4,2]) {axis = 0, exclusive = 1, reverse = 1}",
                 "(f32[18,3]) {axis = 1}",
                 "(i32[2,3,17]) {axis = 1, reverse = 1}"};
  return op;
}

// The axis as a number from 0, its size, and the shape with it doubled: […,n,n,…].
struct Doubled {
  explicit Doubled(const Node& node)
      : rank(node.inputs()[0].type().rank()), axis((node.Int("axis") + rank) % rank) {
    shape = node.inputs()[0].shape();
    size = shape[axis];
  }
  // `shape` with `first` and `second` in place of the axis.
  Shape With(int64_t first, int64_t second) const {
    Shape result = shape;
    result[axis] = first;
    result.insert(result.begin() + axis + 1, second);
    return result;
  }
  // The shape [first, second] aligned with the two axes.
  Shape Aligned(int64_t first, int64_t second) const {
    Shape result(rank - axis + 1, 1);
    result[0] = first;
    result[1] = second;
    return result;
  }

  int64_t rank, axis, size;
  Shape shape;
};

// dx[…,k,…] = sum(i with k in y's product) dy[…,i,…] * prod(j in it other than k) x[…,j,…]. Not a
// quotient, since x may be 0: each k gets a row of all elements with itself replaced by 1.
std::vector<Value> CumprodGradient(GradientBuilder& f) {
  const Value& x = f.Input(0);
  if (x.type().num_elements() == 0) return {Value()};
  const Doubled d(f.node());
  const bool reverse = f.node().Int("reverse") != 0;
  const int64_t n = d.size, exclusive = f.node().Int("exclusive") != 0;
  std::vector<double> diagonal, contributes;
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      diagonal.push_back(i == k);
      contributes.push_back(reverse ? k >= i + exclusive : k + exclusive <= i);
    }
  }
  const TensorType square{DType::kBool, d.Aligned(n, n)};
  const Value itself = f.Constant(Tensor::FromDoubles(square, diagonal));
  const Value others = f.Op("where", {itself, f.Scalar(x.dtype(), 1), f.Reshape(x, d.With(1, n))});
  Attrs attrs = f.node().attrs();
  attrs["axis"] = d.axis + 1;
  const Value products = f.Op("cumprod", {others}, attrs);
  const Value terms = f.Mul(products, f.Reshape(f.ResultGradient(), d.With(1, n)));
  const Value mask = f.Constant(Tensor::FromDoubles(square, contributes));
  return {f.Sum(f.Where(mask, terms, Value()), {d.axis + 1})};
}

// Operator set 17 has no CumProd: y[…,i,…] = prod(k) (k in y's product ? x[…,k,…] : 1).
absl::Status ExportCumprod(OnnxExport& out) {
  const Node& node = out.node();
  const DType dtype = node.type(0).dtype;
  const Doubled d(node);
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < d.size; ++i) numbers.push_back(i);
  auto count = [&](Shape shape) -> absl::StatusOr<std::string> {
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromInts({DType::kI64, shape}, numbers));
    return out.Constant(std::move(tensor));
  };
  LEMMA_ASSIGN_OR_RETURN(const std::string i, count(d.Aligned(d.size, 1)));
  LEMMA_ASSIGN_OR_RETURN(const std::string k, count(d.Aligned(1, d.size)));
  LEMMA_ASSIGN_OR_RETURN(Tensor axis, Tensor::FromInts({DType::kI64, {1}}, {d.axis}));
  LEMMA_ASSIGN_OR_RETURN(Tensor one, Tensor::Filled({dtype, {}}, 1));
  const bool reverse = node.Int("reverse") != 0, exclusive = node.Int("exclusive") != 0;
  const std::string mask = out.Temporary(), row = out.Temporary(), factors = out.Temporary();
  out.Emit(exclusive ? "Less" : "LessOrEqual",
           reverse ? std::vector<std::string>{i, k} : std::vector<std::string>{k, i}, {mask});
  out.Emit("Unsqueeze", {out.Input(0), out.Constant(axis)}, {row});
  out.Emit("Where", {mask, row, out.Constant(one)}, {factors});
  out.Emit("ReduceProd", {factors}, {out.Output(0)},
           {{"axes", std::vector<int64_t>{d.axis + 1}}, {"keepdims", int64_t{0}}});
  return absl::OkStatus();
}

}  // namespace

OpDef Make_cumsum() {
  OpDef op = Running("cumsum", ReduceKind::kSum);
  op.equation = "y[…,i,…] = sum(k <= i) x[…,k,…]";
  // dx[…,k,…] = sum(i with k <= i) dy[…,i,…]: the cumulative sum in the other direction.
  op.gradient = [](GradientBuilder& f) {
    Attrs attrs = f.node().attrs();
    attrs["reverse"] = int64_t{f.node().Int("reverse") == 0};
    return std::vector<Value>{f.Op("cumsum", {f.ResultGradient()}, attrs)};
  };
  op.onnx_import = {ImportRunning("CumSum", "cumsum")};
  op.onnx_export = ExportFor(OnnxNumbers(), [](OnnxExport& out) -> absl::Status {
    const Node& node = out.node();
    LEMMA_ASSIGN_OR_RETURN(Tensor axis, Tensor::FromInts({DType::kI64, {}}, {node.Int("axis")}));
    out.Emit("CumSum", {out.Input(0), out.Constant(axis)}, {out.Output(0)},
             {{"exclusive", node.Int("exclusive")}, {"reverse", node.Int("reverse")}});
    return absl::OkStatus();
  });
  return op;
}

OpDef Make_cumprod() {
  OpDef op = Running("cumprod", ReduceKind::kProd);
  op.equation = "y[…,i,…] = prod(k <= i) x[…,k,…]";
  op.gradient = CumprodGradient;
  op.onnx_import = {ImportRunning("CumProd", "cumprod")};
  op.onnx_export = ExportFor(OnnxNumbers(), ExportCumprod);
  return op;
}

}  // namespace lemma::ops
