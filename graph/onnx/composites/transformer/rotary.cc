// RotaryEmbedding of the default domain and of com.microsoft.
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/rotation.h"
#include "graph/onnx/composites/transformer/shapes.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// Rotates `x` of rank 3 or 4 and gives it its shape back. A tensor of rank 3 is [B,L,H*D]: with
// 0 heads, their size is twice the width of the cache.
Values Rotated(OnnxBuild& b, const Value& x, const Rotation& rotation, int64_t heads) {
  if (!x || !rotation.cos) return b.status();
  const int rank = x.type().rank();
  if (rank != 3 && rank != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", ToString(x.shape()), " must have rank 3 or 4"));
  }
  if (heads == 0 && rank == 3 && !IsSymbolic({x.shape()[2], rotation.cos.shape().back()})) {
    heads = x.shape()[2] / std::max<int64_t>(1, 2 * rotation.cos.shape().back());
  }
  const Value y = Rotate(b, rank == 3 ? SplitHeads(b, x, heads) : x, rotation);
  const Value back = rank == 3 ? MergeHeads(b, y) : y;
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{back};
}

Values ImportRotary(OnnxImport& node) {
  OnnxBuild b(node);
  Rotation rotation;
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(int64_t interleaved, node.Int("interleaved", 0));
  LEMMA_ASSIGN_OR_RETURN(rotation.width, node.Int("rotary_embedding_dim", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t heads, node.Int("num_heads", 0));
  if (heads == 0 && x.type().rank() == 3) {
    return absl::InvalidArgumentError("attribute num_heads is missing, the input has rank 3");
  }
  rotation.interleaved = interleaved != 0;
  rotation.cos = b.Input(1);
  rotation.sin = b.Input(2);
  if (node.HasInput(3)) {
    const Value positions = b.Input(3);
    rotation.cos = b.Op("gather", {rotation.cos, positions}, {{"axis", int64_t{0}}});
    rotation.sin = b.Op("gather", {rotation.sin, positions}, {{"axis", int64_t{0}}});
  }
  return Rotated(b, x, rotation, heads);
}

// The positions are an input of one number, the first position, or one for each position.
Values ImportContribRotary(OnnxImport& node) {
  OnnxBuild b(node);
  Rotation rotation;
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value positions, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t interleaved, node.Int("interleaved", 0));
  LEMMA_ASSIGN_OR_RETURN(rotation.width, node.Int("rotary_embedding_dim", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t heads, node.Int("num_heads", 0));
  LEMMA_ASSIGN_OR_RETURN(double scale, node.Float("scale", 1.0));
  LEMMA_ASSIGN_OR_RETURN(int64_t packed, node.Int("is_packed_batching", 0));
  if (packed != 0) return node.Unsupported("is_packed_batching = 1");
  if (scale != 1) return node.Unsupported(absl::StrCat("scale = ", scale));
  if (rotation.width > 0 && heads == 0 && x.type().rank() == 3) {
    return absl::InvalidArgumentError("rotary_embedding_dim needs num_heads");
  }
  rotation.interleaved = interleaved != 0;
  if (x.type().rank() == 3 || x.type().rank() == 4) {
    const int64_t length = x.shape()[x.type().rank() == 4 ? 2 : 1];
    positions = PositionsFrom(node, b, positions, x.shape()[0], length);
  }
  rotation.cos = b.Op("gather", {b.Input(2), positions}, {{"axis", int64_t{0}}});
  rotation.sin = b.Op("gather", {b.Input(3), positions}, {{"axis", int64_t{0}}});
  return Rotated(b, x, rotation, heads);
}

}  // namespace

Value PositionsFrom(OnnxImport& node, OnnxBuild& b, const Value& given, int64_t batch,
                    int64_t length) {
  if (!given) return given;
  if (ProductOf(given.shape()) != 1) return b.Reshape(given, {batch, length});
  const Value first = b.Reshape(b.Cast(given, DType::kI64), {1, 1});
  return Expand(b, b.Add(Positions(node, b, length, 2, 1), first), {batch, length});
}

Value Rotate(OnnxBuild& b, const Value& x, const Rotation& rotation) {
  if (!x || !rotation.cos || !rotation.sin) return Value();
  const Shape& s = x.shape();
  if (IsSymbolic(s[3])) {
    Fail(b, absl::StrCat(ToString(s), ": the size of a head is symbolic"));
    return Value();
  }
  const int64_t width = rotation.width == 0 ? s[3] : rotation.width, half = width / 2;
  const Shape angles = {s[0], s[2], half};
  if (width > s[3] || width % 2 != 0 || rotation.cos.shape() != angles ||
      rotation.sin.shape() != angles) {
    Fail(b, absl::StrCat("cosines ", ToString(rotation.cos.shape()), " and sines ",
                         ToString(rotation.sin.shape()), " do not rotate ", width, " elements of ",
                         ToString(s), "; they must be ", ToString(angles)));
    return Value();
  }
  const Shape per_head = {s[0], 1, s[2], half};
  const Value cos = b.Reshape(rotation.cos, per_head), sin = b.Reshape(rotation.sin, per_head);
  const Value turned = Slice(b, x, 3, 0, width);
  const int64_t step = rotation.interleaved ? 2 : 1;
  const Value first = Slice(b, turned, 3, 0, rotation.interleaved ? width : half, step);
  const Value second = Slice(b, turned, 3, rotation.interleaved ? 1 : half, width, step);
  Value real = b.Sub(b.Mul(cos, first), b.Mul(sin, second));
  Value imaginary = b.Add(b.Mul(sin, first), b.Mul(cos, second));
  Value y;
  if (rotation.interleaved) {
    const Shape pairs = {s[0], s[1], s[2], half, 1};
    y = b.Concat({b.Reshape(real, pairs), b.Reshape(imaginary, pairs)}, 4);
    y = b.Reshape(y, {s[0], s[1], s[2], width});
  } else {
    y = b.Concat({real, imaginary}, 3);
  }
  return width == s[3] ? y : b.Concat({y, Slice(b, x, 3, width, s[3])}, 3);
}

std::vector<OnnxImporter> RotaryComposites() {
  return {{"RotaryEmbedding", ImportRotary},
          {"com.microsoft.RotaryEmbedding", ImportContribRotary}};
}

}  // namespace lemma::ops
