#include "absl/strings/str_join.h"
#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[i_0,…] = x[j_0,…] with j_perm[d] = i_d.
absl::Status DefineTranspose(OpContext& c) {
  const std::vector<int64_t> perm = c.Ints("perm");
  const size_t rank = static_cast<size_t>(c.rank(0));
  std::vector<bool> seen(rank, false);
  bool valid = perm.size() == rank;
  for (int64_t p : perm) {
    valid = valid && p >= 0 && p < static_cast<int64_t>(rank) && !seen[p];
    if (valid) seen[p] = true;
  }
  LEMMA_REQUIRE(c, valid, "perm = [", absl::StrJoin(perm, ", "), "] is no permutation of ", rank,
                " dimensions");
  Idx dims;
  for (int64_t p : perm) dims.push_back(c.Dim(0, static_cast<int>(p)));
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    Idx at(rank);
    for (size_t d = 0; d < rank; ++d) at[perm[d]] = out[d];
    return c.Read(0, std::move(at));
  });
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> ImportTranspose(OnnxImport& node) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  std::vector<int64_t> reversed, sorted;
  for (int64_t d = 0; d < x.type().rank(); ++d) {
    sorted.push_back(d);
    reversed.insert(reversed.begin(), d);
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> perm, node.Ints("perm", reversed));
  if (perm == sorted) return std::vector<Value>{x};
  return node.Ops("transpose", {x}, {{"perm", perm}});
}

}  // namespace

OpDef Make_transpose() {
  OpDef op;
  op.name = "transpose";
  op.group = "layout";
  op.equation = "y[i_0,…] = x[j_0,…] where j_perm[d] = i_d";
  op.input_names = {"x"};
  op.attrs = {
      {"perm", AttrKind::kInts, std::nullopt, false, "dimension d of y is dimension perm[d] of x"}};
  op.define = DefineTranspose;
  // dx[j…] = dy[i…]: the inverse permutation.
  op.gradient = [](GradientBuilder& f) {
    const std::vector<int64_t>& perm = f.node().Ints("perm");
    std::vector<int64_t> inverse(perm.size());
    for (size_t d = 0; d < perm.size(); ++d) inverse[perm[d]] = static_cast<int64_t>(d);
    return std::vector<Value>{f.Transpose(f.ResultGradient(), inverse)};
  };
  op.examples = {"(f32[2,3]) {perm = [1,0]}", "(f32[2,3,4]) {perm = [2,0,1]}",
                 "(f32[2,1,3,4]) {perm = [0,2,3,1]}", "(i64[]) {perm = []}"};
  op.onnx_import = {{"Transpose", ImportTranspose}};
  op.onnx_export = [](OnnxExport& out) {
    if (out.node().type(0).rank() > 0) return ExportAs("Transpose", {{"perm", "perm"}})(out);
    // ONNX's checker refuses an attribute that is an empty list.
    out.Emit("Identity", {out.Input(0)}, {out.Output(0)});
    return absl::OkStatus();
  };
  return op;
}

}  // namespace lemma::ops
