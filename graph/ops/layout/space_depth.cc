// Moves elements between channels and space.
#include "graph/gradient_builder.h"
#include "graph/onnx_conversion.h"
#include "graph/op_def.h"
#include "graph/ops/checks.h"

namespace lemma::ops {
namespace {

// y[n,c,h,w] = x[n, k, h div b, w div b] where k is c + C*r (DCR) or c*b² + r (CRD), for
// r = (h mod b)*b + w mod b and C output channels.
absl::Status DefineDepthToSpace(OpContext& c) {
  LEMMA_REQUIRE(c, c.rank(0) == 4, "x must be [N,C,H,W]");
  const IndexExpr &block = c.Size("block"), area = block * block;
  const std::string& mode = c.String("mode");
  LEMMA_REQUIRE(c, mode == "DCR" || mode == "CRD", "mode is ", mode, "; it may be DCR or CRD");
  LEMMA_REQUIRE(c, Ge(block, 1), "block must be positive");
  LEMMA_REQUIRE(c, Eq(Mod(c.Dim(0, 1), area), 0), c.Dim(0, 1).ToString(),
                " channels do not divide into blocks of ", area.ToString());
  const IndexExpr channels = FloorDiv(c.Dim(0, 1), area);
  c.Output(c.dtype(0), {c.Dim(0, 0), channels, c.Dim(0, 2) * block, c.Dim(0, 3) * block},
           [&](const Idx& out) {
             IndexExpr inner = Mod(out[2], block) * block + Mod(out[3], block);
             IndexExpr channel = mode == "DCR" ? inner * channels + out[1] : out[1] * area + inner;
             return c.Read(0, {out[0], channel, FloorDiv(out[2], block), FloorDiv(out[3], block)});
           });
  return absl::OkStatus();
}

// y[n,k,h,w] = x[n, k mod C, h*b + r div b, w*b + r mod b], r = k div C.
absl::Status DefineSpaceToDepth(OpContext& c) {
  LEMMA_REQUIRE(c, c.rank(0) == 4, "x must be [N,C,H,W]");
  const IndexExpr &block = c.Size("block"), &channels = c.Dim(0, 1);
  LEMMA_REQUIRE(c, Ge(block, 1), "block must be positive");
  for (int d : {2, 3}) {
    LEMMA_REQUIRE(c, Eq(Mod(c.Dim(0, d), block), 0), "size ", c.Dim(0, d).ToString(),
                  " does not divide into blocks of ", block.ToString());
  }
  c.Output(c.dtype(0),
           {c.Dim(0, 0), channels * block * block, FloorDiv(c.Dim(0, 2), block),
            FloorDiv(c.Dim(0, 3), block)},
           [&](const Idx& out) {
             IndexExpr inner = FloorDiv(out[1], channels);
             return c.Read(0,
                           {out[0], Mod(out[1], channels), out[2] * block + FloorDiv(inner, block),
                            out[3] * block + Mod(inner, block)});
           });
  return absl::OkStatus();
}

// The inverse: a transpose of the axes whose products are y's sizes.
std::vector<Value> DepthToSpaceGradient(GradientBuilder& f) {
  const Value& dy = f.ResultGradient();
  const int64_t block = f.node().Int("block");
  if (f.node().String("mode") == "DCR") {
    return {f.Op("space_to_depth", {dy}, {{"block", block}})};
  }
  const Shape& x = f.Input(0).shape();
  const Shape split = {x[0], dy.shape()[1], x[2], block, x[3], block};
  return {f.Reshape(f.Transpose(f.Reshape(dy, split), {0, 1, 3, 5, 2, 4}), x)};
}

AttrSpec Block() {
  return {"block", AttrKind::kInt, std::nullopt, true, "edge of the squares that are moved"};
}

}  // namespace

OpDef Make_depth_to_space() {
  OpDef op;
  op.name = "depth_to_space";
  op.group = "layout";
  op.equation =
      "y[n,c,h,w] = x[n,k,h div b,w div b], k = r*C + c (DCR) or c*b² + r (CRD), "
      "r = (h mod b)*b + w mod b";
  op.doc = "b is the block, C the number of output channels.";
  op.input_names = {"x"};
  op.attrs = {Block(),
              {"mode", AttrKind::kString, std::string("DCR"), false,
               "DCR: in k, the position in the block is the outer index and the channel the inner "
               "one; CRD: the reverse"}};
  op.define = DefineDepthToSpace;
  op.gradient = DepthToSpaceGradient;
  op.examples = {"(f32[1,8,2,3]) {block = 2}", "(f32[2,8,2,3]) {block = 2, mode = \"CRD\"}",
                 "(f32[1,9,1,2]) {block = 3}", "(f32[1,2,2,2]) {block = 1}"};
  op.onnx_import = {
      ImportAs("DepthToSpace", "depth_to_space", {{"block", "blocksize"}, {"mode", "mode"}})};
  op.onnx_export = ExportAs("DepthToSpace", {{"block", "blocksize"}, {"mode", "mode"}});
  return op;
}

OpDef Make_space_to_depth() {
  OpDef op;
  op.name = "space_to_depth";
  op.group = "layout";
  op.equation = "y[n,k,h,w] = x[n, k mod C, h*b + r div b, w*b + r mod b], r = k div C";
  op.doc = "b is the block, C the number of input channels.";
  op.input_names = {"x"};
  op.attrs = {Block()};
  op.define = DefineSpaceToDepth;
  // dx = depth_to_space(dy), the inverse.
  op.gradient = [](GradientBuilder& f) {
    return std::vector<Value>{
        f.Op("depth_to_space", {f.ResultGradient()}, {{"block", f.node().Int("block")}})};
  };
  op.examples = {"(f32[1,2,4,6]) {block = 2}", "(f32[2,1,3,3]) {block = 3}",
                 "(f32[1,2,2,2]) {block = 1}"};
  op.onnx_import = {ImportAs("SpaceToDepth", "space_to_depth", {{"block", "blocksize"}})};
  op.onnx_export = ExportAs("SpaceToDepth", {{"block", "blocksize"}});
  return op;
}

}  // namespace lemma::ops
