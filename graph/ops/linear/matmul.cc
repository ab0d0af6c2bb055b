#include "base/status_macros.h"
#include "graph/gradient_builder.h"
#include "graph/onnx/composites/activation.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/types.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/broadcast.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[b…,i,j] = sum(k < K) x[b…,i,k] * w[b…,k,j], the batch dimensions broadcast.
absl::Status DefineMatmul(OpContext& c) {
  LEMMA_RETURN_IF_ERROR(RequireNumeric(c));
  Idx batch[2];
  for (int i = 0; i < 2; ++i) {
    LEMMA_REQUIRE(c, c.rank(i) >= 2, "operands need rank 2 or more, not ", c.rank(i));
    batch[i] = Idx(c.dims(i).begin(), c.dims(i).end() - 2);
  }
  const IndexExpr& rows = c.Dim(0, c.rank(0) - 2);
  const IndexExpr& inner = c.Dim(0, c.rank(0) - 1);
  const IndexExpr& other_inner = c.Dim(1, c.rank(1) - 2);
  const IndexExpr& columns = c.Dim(1, c.rank(1) - 1);
  LEMMA_REQUIRE(c, Eq(inner, other_inner), "the inner sizes ", inner.ToString(), " and ",
                other_inner.ToString(), " must be equal");
  LEMMA_ASSIGN_OR_RETURN(Idx dims, BroadcastDims(c, batch));
  const size_t batch_rank = dims.size();
  dims.push_back(rows);
  dims.push_back(columns);
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    auto element = [&](int operand, const IndexExpr& row, const IndexExpr& column) {
      Idx index = BroadcastIndex(batch[operand], Idx(out.begin(), out.begin() + batch_rank));
      index.push_back(row);
      index.push_back(column);
      return c.Read(operand, index);
    };
    return c.Sum({inner}, [&](const Idx& k) {
      return element(0, out[batch_rank], k[0]) * element(1, k[0], out[batch_rank + 1]);
    });
  });
  return absl::OkStatus();
}

// dx = dy * wᵀ and dw = xᵀ * dy, each summed over the batches that repeat it. If all of x's batches
// share one matrix w, dw is one product over the rows of all batches.
std::vector<Value> MatmulGradient(GradientBuilder& f) {
  const Value &x = f.Input(0), &w = f.Input(1), &dy = f.ResultGradient();
  const Value dx = f.Op("matmul", {dy, f.MatrixTranspose(w)});
  Value dw;
  if (w.type().rank() == 2 && x.type().rank() > 2) {
    const int64_t inner = x.shape().back(), columns = dy.shape().back();
    const int64_t rows = NumElements(Shape(x.shape().begin(), x.shape().end() - 1));
    dw = f.Op("matmul",
              {f.MatrixTranspose(f.Reshape(x, {rows, inner})), f.Reshape(dy, {rows, columns})});
  } else {
    dw = f.SumTo(f.Op("matmul", {f.MatrixTranspose(x), dy}), w.shape());
  }
  return {f.SumTo(dx, x.shape()), dw};
}

// A vector on the left is a row, one on the right a column. The added axis is removed from the
// result.
absl::StatusOr<Value> MultiplyAnyRank(OnnxImport& node, Value a, Value b) {
  const bool row = a.type().rank() == 1, column = b.type().rank() == 1;
  if (row) {
    LEMMA_ASSIGN_OR_RETURN(a, Reshape(node, a, {1, a.shape()[0]}));
  }
  if (column) {
    LEMMA_ASSIGN_OR_RETURN(b, Reshape(node, b, {b.shape()[0], 1}));
  }
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("matmul", {a, b}));
  Shape shape = y.shape();
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return Reshape(node, y, shape);
}

absl::StatusOr<std::vector<Value>> ImportMatMul(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value a, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value b, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(Value y, MultiplyAnyRank(node, a, b));
  return std::vector<Value>{y};
}

absl::StatusOr<Value> TransposeIf(OnnxImport& node, const Value& x, const char* attr) {
  LEMMA_ASSIGN_OR_RETURN(int64_t transposed, node.Int(attr, 0));
  if (x.type().rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("operand ", ToString(x.shape()), " must be a matrix"));
  }
  if (transposed == 0) return x;
  return node.Op("transpose", {x}, {{"perm", std::vector<int64_t>{1, 0}}});
}

absl::StatusOr<Value> ScaleBy(OnnxImport& node, const Value& x, const char* attr) {
  LEMMA_ASSIGN_OR_RETURN(double factor, node.Float(attr, 1.0));
  if (factor == 1) return x;
  LEMMA_ASSIGN_OR_RETURN(Value scalar, node.Scalar(x.dtype(), factor));
  return node.Op("mul", {x, scalar});
}

// alpha * A' * B' + beta * C, where A' is A or its transpose.
absl::StatusOr<std::vector<Value>> ImportGemm(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value a, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value b, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(a, TransposeIf(node, a, "transA"));
  LEMMA_ASSIGN_OR_RETURN(b, TransposeIf(node, b, "transB"));
  LEMMA_ASSIGN_OR_RETURN(Value y, node.Op("matmul", {a, b}));
  LEMMA_ASSIGN_OR_RETURN(y, ScaleBy(node, y, "alpha"));
  if (!node.HasInput(2)) {
    LEMMA_RETURN_IF_ERROR(node.Float("beta", 1).status());  // a Gemm without C may still have it
  } else {
    LEMMA_ASSIGN_OR_RETURN(Value c, node.Input(2));
    LEMMA_ASSIGN_OR_RETURN(c, ScaleBy(node, c, "beta"));
    const Shape shape = y.shape();
    LEMMA_ASSIGN_OR_RETURN(y, node.Op("add", {y, c}));
    if (y.shape() != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("C ", ToString(c.shape()), " does not broadcast to ", ToString(shape)));
    }
  }
  return std::vector<Value>{y};
}

// f(Gemm), of com.microsoft.
absl::StatusOr<std::vector<Value>> ImportFusedGemm(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Value> y, ImportGemm(node));
  LEMMA_ASSIGN_OR_RETURN(y[0], ApplyNamedActivation(node, y[0]));
  return y;
}

// x as i32 minus its zero point, which is a scalar or one number per row (of a) or column (of b).
absl::StatusOr<Value> Centered(OnnxImport& node, int i) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(i));
  LEMMA_ASSIGN_OR_RETURN(x, Cast(node, x, DType::kI32));
  if (!node.HasInput(i + 2)) return x;
  LEMMA_ASSIGN_OR_RETURN(Value zero, node.Input(i + 2));
  LEMMA_ASSIGN_OR_RETURN(zero, Cast(node, zero, DType::kI32));
  if (i == 0 && zero.type().rank() == 1 && zero.shape()[0] != 1) {
    LEMMA_ASSIGN_OR_RETURN(zero, Reshape(node, zero, {zero.shape()[0], 1}));
  }
  return node.Op("sub", {x, zero});
}

absl::StatusOr<std::vector<Value>> ImportMatMulInteger(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value a, Centered(node, 0));
  LEMMA_ASSIGN_OR_RETURN(Value b, Centered(node, 1));
  LEMMA_ASSIGN_OR_RETURN(Value y, MultiplyAnyRank(node, a, b));
  return std::vector<Value>{y};
}

}  // namespace

OpDef Make_matmul() {
  OpDef op;
  op.name = "matmul";
  op.group = "linear algebra";
  op.equation = "y[b…,i,j] = sum(k < K) x[b…,i,k] * w[b…,k,j]";
  op.doc = "Batch dimensions b… are aligned at the right and broadcast.";
  op.input_names = {"x", "w"};
  op.min_inputs = op.max_inputs = 2;
  op.define = DefineMatmul;
  op.gradient = MatmulGradient;
  op.examples = {"(f32[3,4], f32[4,5])", "(f32[2,3,4], f32[4,5])", "(f32[1,4], f32[4,1])",
                 "(f32[2,1,3,4], f32[1,3,4,5])", "(f32[3,4], f32[2,4,3])"};
  op.onnx_import = {{"MatMul", ImportMatMul},
                    {"Gemm", ImportGemm},
                    {"com.microsoft.FusedGemm", ImportFusedGemm},
                    {"MatMulInteger", ImportMatMulInteger}};
  op.onnx_export = ExportFor(OnnxNumbers(), ExportAs("MatMul"));
  return op;
}

}  // namespace lemma::ops
