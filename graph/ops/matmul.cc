#include <algorithm>

#include "graph/onnx_form.h"
#include "graph/op_def.h"

namespace lemma::ops {
namespace {

// y[b…,i,j] = sum(k < K) x[b…,i,k] * w[b…,k,j], the batch dimensions broadcast.
absl::Status DefineMatmul(OpContext& c) {
  const int rank_a = c.rank(0), rank_b = c.rank(1);
  LEMMA_REQUIRE(c, rank_a >= 2 && rank_b >= 2, "operands need rank 2 or more");
  const IndexExpr& rows = c.Dim(0, rank_a - 2);
  const IndexExpr& inner = c.Dim(0, rank_a - 1);
  const IndexExpr& columns = c.Dim(1, rank_b - 1);
  LEMMA_REQUIRE(c, Eq(inner, c.Dim(1, rank_b - 2)), "the inner sizes ", inner.ToString(), " and ",
                c.Dim(1, rank_b - 2).ToString(), " must be equal");

  const int batch_rank = std::max(rank_a, rank_b) - 2;
  Idx dims(batch_rank);
  // Whether operand i has batch dimension d of the output, and repeats along it.
  auto batch_dim = [&](int operand, int d) -> const IndexExpr* {
    int axis = d - batch_rank + c.rank(operand) - 2;
    return axis < 0 ? nullptr : &c.Dim(operand, axis);
  };
  auto repeats = [](const IndexExpr& dim) { return dim.is_const() && dim.value() == 1; };
  for (int d = 0; d < batch_rank; ++d) {
    const IndexExpr *a = batch_dim(0, d), *b = batch_dim(1, d);
    if (a != nullptr && b != nullptr && !repeats(*a) && !repeats(*b)) {
      LEMMA_REQUIRE(c, Eq(*a, *b), "the batch sizes ", a->ToString(), " and ", b->ToString(),
                    " must be equal, or one of them 1");
    }
    dims[d] = a == nullptr ? *b : b == nullptr ? *a : repeats(*a) ? *b : *a;
  }
  dims.push_back(rows);
  dims.push_back(columns);
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    auto element = [&](int operand, const IndexExpr& row, const IndexExpr& column) {
      Idx index;
      for (int d = 0; d < batch_rank; ++d) {
        const IndexExpr* dim = batch_dim(operand, d);
        if (dim != nullptr) index.push_back(repeats(*dim) ? IndexExpr(0) : out[d]);
      }
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
  op.examples = {"(f32[3,4], f32[4,5])", "(f32[2,3,4], f32[4,5])", "(f32[1,4], f32[4,1])",
                 "(f32[2,1,3,4], f32[1,3,4,5])", "(f32[3,4], f32[2,4,3])"};
  op.onnx_import = {ImportAs("MatMul", "matmul")};
  op.onnx_export = ExportAs("MatMul");
  return op;
}

}  // namespace lemma::ops
