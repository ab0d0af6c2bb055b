#include "graph/onnx_form.h"
#include "graph/op_def.h"

namespace lemma::ops {
namespace {

// y[n,k,p,q] = sum(c < C, r < R, s < S) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]
//                                       * w[k,c,r,s]  (+ bias[k]),
// g = k div (K div groups); a read outside x is 0.
absl::Status DefineConv2d(OpContext& c) {
  LEMMA_REQUIRE(c, c.rank(0) == 4, "x must be [N,C,H,W]");
  LEMMA_REQUIRE(c, c.rank(1) == 4, "w must be [K,C/groups,R,S]");
  const Idx &stride = c.Sizes("strides"), &pad = c.Sizes("pads"), &dilation = c.Sizes("dilations");
  LEMMA_REQUIRE(c, stride.size() == 2 && dilation.size() == 2 && pad.size() == 4,
                "strides and dilations take 2 sizes, pads takes 4: top, left, bottom, right");
  const IndexExpr& groups = c.Size("groups");
  const IndexExpr &batch = c.Dim(0, 0), &channels = c.Dim(0, 1);
  const IndexExpr &outputs = c.Dim(1, 0), &per_group = c.Dim(1, 1);
  LEMMA_REQUIRE(c, Ge(groups, 1), "groups must be positive");
  for (int i = 0; i < 2; ++i) {
    LEMMA_REQUIRE(c, Ge(stride[i], 1) && Ge(dilation[i], 1), "strides and dilations are positive");
    LEMMA_REQUIRE(c, Ge(c.Dim(1, 2 + i), 1), "the kernel is empty");
  }
  LEMMA_REQUIRE(c, Eq(per_group * groups, channels), "x has ", channels.ToString(),
                " channels, w takes ", per_group.ToString(), " in each of ", groups.ToString(),
                " groups");
  LEMMA_REQUIRE(c, Eq(Mod(outputs, groups), 0), outputs.ToString(),
                " output channels do not divide into ", groups.ToString(), " groups");
  if (c.num_inputs() == 3) {
    LEMMA_REQUIRE(c, c.rank(2) == 1 && Eq(c.Dim(2, 0), outputs).kind() != Guard::Kind::kFalse,
                  "the bias must be [", outputs.ToString(), "]");
    LEMMA_REQUIRE(c, Eq(c.Dim(2, 0), outputs), "the bias must be [", outputs.ToString(), "]");
  }

  Idx dims = {batch, outputs};
  for (int i = 0; i < 2; ++i) {
    IndexExpr span =
        c.Dim(0, 2 + i) + pad[i] + pad[2 + i] - (dilation[i] * (c.Dim(1, 2 + i) - 1) + 1);
    LEMMA_REQUIRE(c, Ge(span, 0), "the kernel is larger than the padded input");
    dims.push_back(FloorDiv(span, stride[i]) + 1);
  }
  c.Output(c.dtype(0), dims, [&](const Idx& out) {
    IndexExpr group = FloorDiv(out[1], FloorDiv(outputs, groups));
    Idx window = {per_group, c.Dim(1, 2), c.Dim(1, 3)};
    ScalarExpr sum = c.Sum(window, [&](const Idx& r) {
      Idx at = {out[0], group * per_group + r[0]};
      for (int i = 0; i < 2; ++i) {
        at.push_back(out[2 + i] * stride[i] + r[1 + i] * dilation[i] - pad[i]);
      }
      return c.ReadOr(0, at, 0) * c.Read(1, {out[1], r[0], r[1], r[2]});
    });
    return c.num_inputs() == 3 ? sum + c.Read(2, {out[1]}) : sum;
  });
  return absl::OkStatus();
}

}  // namespace

OpDef Make_conv2d() {
  OpDef op;
  op.name = "conv2d";
  op.group = "convolution";
  op.equation =
      "y[n,k,p,q] = sum(c < C, r < R, s < S) x[n, g*C + c, p*sh + r*dh - top, q*sw + s*dw - left]"
      " * w[k,c,r,s] + bias[k], g = k div (K div groups)";
  op.doc = "A read outside x is 0. The bias may be left out.";
  op.input_names = {"x", "w", "bias"};
  op.min_inputs = 2;
  op.max_inputs = 3;
  op.attrs = {
      {"strides", AttrKind::kInts, std::vector<int64_t>{1, 1}, true, "sh, sw"},
      {"pads", AttrKind::kInts, std::vector<int64_t>{0, 0, 0, 0}, true, "top, left, bottom, right"},
      {"dilations", AttrKind::kInts, std::vector<int64_t>{1, 1}, true, "dh, dw"},
      {"groups", AttrKind::kInt, int64_t{1}, true, "C and K are cut into as many parts"},
  };
  op.define = DefineConv2d;
  op.examples = {
      "(f32[1,3,5,5], f32[4,3,3,3])",
      "(f32[2,3,7,5], f32[4,3,3,3], f32[4]) {pads = [1,1,1,1]}",
      "(f32[1,4,7,6], f32[6,2,3,2], f32[6]) {strides = [2,1], pads = [1,0,2,1], groups = 2}",
      "(f32[1,2,9,9], f32[2,1,3,3]) {dilations = [2,3], pads = [2,3,2,3], groups = 2}",
      "(f32[1,4,5,5], f32[3,4,1,1])",
  };
  op.onnx_import = {};  // see the importer of Conv
  op.onnx_export = ExportAs(
      "Conv",
      {{"strides", "strides"}, {"pads", "pads"}, {"dilations", "dilations"}, {"groups", "group"}});
  return op;
}

}  // namespace lemma::ops
