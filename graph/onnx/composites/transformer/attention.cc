// Attention of operator sets 23 and 24, and the cache that it reads.
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/axes.h"
#include "graph/onnx/composites/dtype.h"
#include "graph/onnx/composites/transformer/core.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/shapes.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

// Input `i` as [B,H,L,D]. The attribute counts the heads of a tensor of rank 3.
absl::StatusOr<Value> Heads(OnnxImport& node, OnnxBuild& b, int i, const char* count) {
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(i));
  node.FindAttr(count);
  if (x.type().rank() == 4) return x;
  if (x.type().rank() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " ", ToString(x.shape()), " must have rank 3 or 4"));
  }
  LEMMA_ASSIGN_OR_RETURN(int64_t heads, node.Int(count));
  return SplitHeads(b, x, heads);
}

// The mask as a number that is added to a score: 0 or -inf for a bool. Keys after its end are not
// attended to, since operator set 24.
Value MaskBias(OnnxImport& node, OnnxBuild& b, DType dtype, int64_t keys) {
  const Value mask = b.Input(kMask);
  if (!mask) return mask;
  Value bias = mask.dtype() == DType::kBool ? BiasOf(b, mask, dtype) : b.Cast(mask, dtype);
  if (!bias || bias.type().rank() == 0 || node.opset() < 24) return bias;
  Shape rest = bias.shape();
  const IndexExpr seen = ToExpr(rest.back()), all = ToExpr(keys);
  const std::optional<bool> is_whole = Decide(Le(all, seen));
  if (is_whole == true) return bias;
  const std::optional<int64_t> missing = ToSize(all - seen);
  if (is_whole != false || !missing) {
    return b.Take<Value>(node.Unsupported("a mask that may have fewer keys than there are"));
  }
  rest.back() = *missing;
  const Value hidden = Filled(node, b, dtype, rest, -std::numeric_limits<double>::infinity());
  return b.Concat({bias, hidden}, bias.type().rank() - 1);
}

// 0 where the query may see the key, else -inf; empty if every query sees all keys. Query i sees
// the keys up to i plus the keys before the first query.
Value PositionBias(OnnxImport& node, OnnxBuild& b, DType dtype, const Shape& scores, int64_t past,
                   bool causal) {
  const int64_t batch = scores[0], queries = scores[2], keys = scores[3];
  const Value column = Positions(node, b, keys, 4, 3);
  Value lengths, bias;
  if (node.HasInput(kLengths)) {
    lengths = b.Reshape(b.Cast(b.Input(kLengths), DType::kI64), {batch, 1, 1, 1});
  }
  if (causal) {
    Value row = Positions(node, b, queries, 4, 2);
    if (lengths && !node.HasInput(kPastKey)) {
      row = b.Add(row, b.Sub(lengths, SizeAsNumber(b, queries)));
    } else {
      row = b.Add(row, SizeAsNumber(b, past));
    }
    bias = BiasOf(b, b.Op("less_equal", {column, row}), dtype);
  }
  if (lengths) bias = SumOf(b, bias, BiasOf(b, b.Op("less", {column, lengths}), dtype));
  return bias;
}

// The past positions, if there are some, before the present ones.
Value Present(OnnxImport& node, OnnxBuild& b, int past, const Value& now) {
  return node.HasInput(past) ? b.Concat({b.Input(past), now}, 2) : now;
}

absl::StatusOr<DType> SoftmaxType(const OnnxImport& node, DType fallback) {
  if (node.FindAttr("softmax_precision") == nullptr) return fallback;
  LEMMA_ASSIGN_OR_RETURN(int64_t number, node.Int("softmax_precision"));
  if (number == 0) return fallback;
  LEMMA_ASSIGN_OR_RETURN(DType dtype, FromOnnxNumber(node, number));
  if (IsFloat(dtype)) return dtype;
  return absl::InvalidArgumentError(absl::StrCat("softmax_precision is ", Name(dtype)));
}

Values ImportAttention(OnnxImport& node) {
  OnnxBuild b(node);
  AttentionCore core;
  LEMMA_ASSIGN_OR_RETURN(Value input, node.Input(kQ));
  LEMMA_ASSIGN_OR_RETURN(core.q, Heads(node, b, kQ, "q_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(Value key, Heads(node, b, kK, "kv_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(Value value, Heads(node, b, kV, "kv_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(core.scale, node.Float("scale", DefaultScale(core.q)));
  LEMMA_ASSIGN_OR_RETURN(core.cap, node.Float("softcap", 0.0));
  if (core.cap < 0) core.cap = 0;
  LEMMA_ASSIGN_OR_RETURN(int64_t causal, node.Int("is_causal", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t mode, node.Int("qk_matmul_output_mode", 0));
  core.k = Present(node, b, kPastKey, key);
  const Value present_value = Present(node, b, kPastValue, value);
  if (!core.q || !core.k || !present_value) return b.status();
  const DType dtype = core.q.dtype();
  LEMMA_ASSIGN_OR_RETURN(core.softmax, SoftmaxType(node, dtype));
  const int64_t keys = core.k.shape()[2];
  const int64_t past = node.HasInput(kPastKey) ? b.Input(kPastKey).shape()[2] : 0;
  const Shape scores = {core.q.shape()[0], core.q.shape()[1], core.q.shape()[2], keys};
  core.v = b.Cast(present_value, dtype);
  if (node.HasInput(kMask)) core.bias = MaskBias(node, b, dtype, keys);
  core.may_hide_rows = node.HasInput(kMask) || node.HasInput(kLengths);
  core.bias = SumOf(b, core.bias, PositionBias(node, b, dtype, scores, past, causal != 0));
  const AttentionValues r = Attend(node, b, core);
  const Value y = input.type().rank() == 3 ? MergeHeads(b, r.y) : r.y;
  const Value by_mode[] = {r.s, r.c, r.biased, r.p};
  if (mode < 0 || mode > 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("qk_matmul_output_mode is ", mode, ", it must be 0, 1, 2 or 3"));
  }
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y, core.k, present_value, by_mode[mode]};
}

// The update replaces the cache's positions from write_indices[batch] on.
Values ImportTensorScatter(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value cache, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value update, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", -2));
  LEMMA_ASSIGN_OR_RETURN(axis, NormalizeOnnxAxis(axis, cache.type().rank()));
  LEMMA_ASSIGN_OR_RETURN(std::string mode, node.String("mode", "linear"));
  if (mode != "linear" && mode != "circular") {
    return absl::InvalidArgumentError(
        absl::StrCat("mode is ", mode, ", it must be linear or circular"));
  }
  Shape fits = update.shape();
  if (axis < 1 || fits.size() != cache.shape().size() || fits[axis] > cache.shape()[axis]) {
    return absl::InvalidArgumentError(absl::StrCat("an update ", ToString(fits), " at axis ", axis,
                                                   " does not fit ", ToString(cache.shape())));
  }
  fits[axis] = cache.shape()[axis];
  if (fits != cache.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("an update ", ToString(update.shape()),
                                                   " does not fit ", ToString(cache.shape())));
  }
  Value start = b.Scalar(DType::kI64, 0);
  if (node.HasInput(2)) {
    Shape per_batch(fits.size(), 1);
    per_batch[0] = fits[0];
    start = b.Reshape(b.Cast(b.Input(2), DType::kI64), per_batch);
  }
  const Value y =
      WriteAt(node, b, cache, update, start, static_cast<int>(axis), mode == "circular");
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace

std::vector<OnnxImporter> AttentionComposites() {
  return {{"Attention", ImportAttention}, {"TensorScatter", ImportTensorScatter}};
}

}  // namespace lemma::ops
