// FusedMatMul of com.microsoft.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/build.h"
#include "graph/onnx/composites/transformer/parts.h"

namespace lemma::ops {
namespace {

// Input `i` with the matrix transposed; with `batch`, the first dimension goes behind the batch
// before that.
absl::StatusOr<Value> Factor(OnnxImport& node, OnnxBuild& b, int i, const char* matrix,
                             const char* batch) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(i));
  LEMMA_ASSIGN_OR_RETURN(int64_t transposed, node.Int(matrix, 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t moved, node.Int(batch, 0));
  const int rank = x.type().rank();
  if (rank < 2) return node.Unsupported(absl::StrCat("operand ", i, " of rank ", rank));
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
  if (moved != 0) {
    perm.erase(perm.begin());
    perm.insert(perm.end() - 1, 0);
  }
  if (transposed != 0) std::swap(perm[rank - 1], perm[rank - 2]);
  for (int64_t d = 0; d < rank; ++d) {
    if (perm[d] != d) return b.Transpose(x, perm);
  }
  return x;
}

// alpha * A' * B'.
absl::StatusOr<std::vector<Value>> ImportFusedMatMul(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value left, Factor(node, b, 0, "transA", "transBatchA"));
  LEMMA_ASSIGN_OR_RETURN(Value right, Factor(node, b, 1, "transB", "transBatchB"));
  LEMMA_ASSIGN_OR_RETURN(double alpha, node.Float("alpha", 1.0));
  Value y = b.Op("matmul", {left, right});
  if (alpha != 1) y = b.Mul(y, alpha);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> FusedProducts() {
  return {{"com.microsoft.FusedMatMul", ImportFusedMatMul}};
}

}  // namespace lemma::ops
