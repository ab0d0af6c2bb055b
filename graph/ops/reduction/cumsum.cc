#include "base/status_macros.h"
#include "graph/gradient_form.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_form.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[…,i,…] = sum(k <= i) x[…,k,…]; exclusive: k < i; reverse: k >= i, or k > i.
absl::Status DefineCumsum(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  LEMMA_ASSIGN_OR_RETURN(int axis, c.NormalizeAxis(c.Int("axis"), c.rank(0)));
  const IndexExpr& size = c.Dim(0, axis);
  const int exclusive = c.Int("exclusive") != 0;
  const bool reverse = c.Int("reverse") != 0;
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    const IndexExpr& i = out[axis];
    return c.Reduce(
        ReduceKind::kSum, {size},
        [&](const Idx& k) {
          Idx index = out;
          index[axis] = k[0];
          return c.Read(0, index);
        },
        [&](const Idx& k) { return reverse ? Ge(k[0], i + exclusive) : Le(k[0] + exclusive, i); });
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ImportCumSum(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Tensor axis, node.ConstantInput(1));
  if (axis.size() != 1) return absl::InvalidArgumentError("axis must be one number");
  Attrs attrs;
  LEMMA_ASSIGN_OR_RETURN(attrs["axis"], NormalizeOnnxAxis(axis.AtInt(0), x.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(attrs["exclusive"], node.Int("exclusive", 0));
  LEMMA_ASSIGN_OR_RETURN(attrs["reverse"], node.Int("reverse", 0));
  return node.Ops("cumsum", {x}, attrs);
}

}  // namespace

OpDef Make_cumsum() {
  OpDef op;
  op.name = "cumsum";
  op.group = "reduction";
  op.equation = "y[…,i,…] = sum(k <= i) x[…,k,…]";
  op.doc = "exclusive: over k < i; reverse: over k >= i; both: over k > i.";
  op.input_names = {"x"};
  op.attrs = {
      {"axis", AttrKind::kInt, int64_t{0}, false, "the axis i; a negative one counts from the end"},
      {"exclusive", AttrKind::kInt, int64_t{0}, false, "1: without x at i"},
      {"reverse", AttrKind::kInt, int64_t{0}, false, "1: from i to the end"}};
  op.define = DefineCumsum;
  // dx[…,k,…] = sum(i with k <= i) dy[…,i,…]: the cumulative sum in the other direction.
  op.gradient = [](GradientForm& f) {
    Attrs attrs = f.node().attrs();
    attrs["reverse"] = int64_t{f.node().Int("reverse") == 0};
    return std::vector<Value>{f.Op("cumsum", {f.ResultGradient()}, attrs)};
  };
  op.examples = {"(f32[5])", "(f32[2,3,4]) {axis = 1, exclusive = 1}",
                 "(f32[3,4]) {axis = -1, reverse = 1}",
                 "(i64[4,2]) {axis = 0, exclusive = 1, reverse = 1}"};
  op.onnx_import = {{"CumSum", ImportCumSum}};
  op.onnx_export = ExportFor(OnnxNumbers(), [](OnnxExport& out) -> absl::Status {
    const Node& node = out.node();
    LEMMA_ASSIGN_OR_RETURN(Tensor axis, Tensor::FromInts({DType::kI64, {}}, {node.Int("axis")}));
    out.Emit("CumSum", {out.Input(0), out.Constant(axis)}, {out.Output(0)},
             {{"exclusive", node.Int("exclusive")}, {"reverse", node.Int("reverse")}});
    return absl::OkStatus();
  });
  return op;
}

}  // namespace lemma::ops
