#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[b…,i,j] = x[b…,i,j] if j >= i + k (upper) or j <= i + k (lower), otherwise 0.
absl::Status DefineTrilu(OpContext& c) {
  const int rank = c.rank(0);
  LEMMA_REQUIRE(c, rank >= 2, "x must be a matrix or a batch of them");
  const IndexExpr& k = c.Size("k");
  constexpr int64_t kFarthest = int64_t{1} << 62;
  LEMMA_REQUIRE(c, Ge(k, -kFarthest) && Le(k, kFarthest), "k leaves 64 bits");
  c.Output(c.dtype(0), c.dims(0), [&](const Idx& out) {
    const IndexExpr &row = out[rank - 2], &column = out[rank - 1];
    Guard kept = c.Int("upper") != 0 ? Ge(column, row + k) : Le(column, row + k);
    return ScalarExpr::Select(kept, c.Read(0, out), 0);
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ImportTrilu(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t upper, node.Int("upper", 1));
  int64_t k = 0;
  if (node.HasInput(1)) {
    LEMMA_ASSIGN_OR_RETURN(Tensor given, node.ConstantInput(1));
    if (given.size() != 1) return absl::InvalidArgumentError("k must be a scalar");
    k = given.AtInt(0);
  }
  return node.Ops("trilu", {x}, {{"k", k}, {"upper", upper}});
}

}  // namespace

OpDef Make_trilu() {
  OpDef op;
  op.name = "trilu";
  op.group = "layout";
  op.equation = "y[b…,i,j] = x[b…,i,j] if j >= i + k (upper) or j <= i + k (lower), otherwise 0";
  op.input_names = {"x"};
  op.attrs = {{"k", AttrKind::kInt, int64_t{0}, true,
               "the diagonal where the triangle ends, counted upwards from the main one"},
              {"upper", AttrKind::kInt, int64_t{1}, false, "0: the lower triangle is kept"}};
  op.define = DefineTrilu;
  // dx = trilu(dy): 0 where y is.
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{f.Again({f.ResultGradient()})};
  };
  op.examples = {"(f32[3,4])", "(f32[2,4,3]) {k = -1, upper = 0}", "(i64[3,3]) {k = 2}",
                 "(f32[2,2]) {k = 5, upper = 0}"};
  op.onnx_import = {{"Trilu", ImportTrilu}};
  op.onnx_export = [](OnnxExport& out) -> absl::Status {
    const int64_t k = out.node().Int("k");
    LEMMA_ASSIGN_OR_RETURN(Tensor scalar, Tensor::FromInts({DType::kI64, {}}, {&k, 1}));
    out.Emit("Trilu", {out.Input(0), out.Constant(std::move(scalar))}, {out.Output(0)},
             {{"upper", out.node().Int("upper")}});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
