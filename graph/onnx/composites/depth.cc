#include "graph/onnx/composites/depth.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// The taps of a 3-d window along its depth; each is a slice of the input.
constexpr int64_t kMaxTaps = 1024;

}  // namespace

absl::StatusOr<Value> DepthToChannels(OnnxImport& node, const Value& x, const OnnxWindow& depth) {
  const Shape s = x.shape();
  const int64_t taps = depth.kernel[0], stride = depth.strides[0], dilation = depth.dilations[0];
  const IndexExpr room =
      ToExpr(s[2]) + ToExpr(depth.pads[0]) + ToExpr(depth.pads[1]) - (taps - 1) * dilation - 1;
  if (stride < 1 || dilation < 1 || taps < 1 || Decide(Ge(room, 0)) == false) {
    return absl::InvalidArgumentError(
        absl::StrCat("no window of ", taps, " fits into ", ToString(s), " along its depth"));
  }
  if (taps > kMaxTaps) return node.Unsupported(absl::StrCat("a window of ", taps, " in depth"));
  const std::optional<int64_t> positions = ToSize(FloorDiv(room, stride) + 1);
  if (!positions) return node.Unsupported("a symbolic depth");
  Value padded = x;
  if (depth.pads[0] != 0 || depth.pads[1] != 0) {
    std::vector<int64_t> pads = {0, 0, depth.pads[0], 0, 0, 0, 0, depth.pads[1], 0, 0};
    LEMMA_ASSIGN_OR_RETURN(padded, node.Op("pad", {x}, {{"pads", pads}}));
  }
  std::vector<Value> seen;
  for (int64_t t = 0; t < taps; ++t) {
    Attrs cut = {{"starts", Shape{0, 0, t * dilation, 0, 0}},
                 {"sizes", Shape{s[0], s[1], *positions, s[3], s[4]}},
                 {"steps", Shape{1, 1, stride, 1, 1}}};
    LEMMA_ASSIGN_OR_RETURN(Value tap, node.Op("slice", {padded}, cut));
    LEMMA_ASSIGN_OR_RETURN(tap, Reshape(node, tap, {s[0], s[1], 1, *positions, s[3], s[4]}));
    seen.push_back(tap);
  }
  LEMMA_ASSIGN_OR_RETURN(Value all, node.Op("concat", seen, {{"axis", int64_t{2}}}));
  LEMMA_ASSIGN_OR_RETURN(all, node.Op("transpose", {all}, {{"perm", Shape{0, 3, 1, 2, 4, 5}}}));
  return Reshape(node, all, {ProductOf({s[0], *positions}), ProductOf({s[1], taps}), s[3], s[4]});
}

absl::StatusOr<Value> PositionsToDepth(OnnxImport& node, const Value& y, int64_t batch) {
  if (batch == 0) return node.Unsupported("a 3-d convolution of an empty batch");
  const Shape s = y.shape();
  const std::optional<int64_t> positions = QuotientOf(s[0], batch);
  if (!positions) return node.Unsupported("a symbolic batch that may be empty");
  LEMMA_ASSIGN_OR_RETURN(Value deep, Reshape(node, y, {batch, *positions, s[1], s[2], s[3]}));
  return node.Op("transpose", {deep}, {{"perm", Shape{0, 2, 1, 3, 4}}});
}

}  // namespace lemma::ops
