// GroupQueryAttention of com.microsoft.
#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/transformer/core.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/rotation.h"
#include "graph/onnx/composites/transformer/shapes.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

constexpr int64_t kMaxHeads = int64_t{1} << 20;

// B is the batch, L counts the new positions, T all positions. Row b of the batch has past[b] old
// positions, and the new ones follow them; the last new positions of a row may be padding.
class GroupedAttention {
 public:
  explicit GroupedAttention(OnnxImport& node) : node_(node), b_(node) {}
  Values Run();

 private:
  enum Input {
    kQuery,
    kKey,
    kValue,
    kPastKey,
    kPastValue,
    kLastKey,
    kTotal,
    kCos,
    kSin,
    kPositions,
    kBias,
    kSink,
  };

  absl::Status ReadAttributes();
  absl::Status ReadHeads();
  absl::Status ReadLengths();
  void RotateHeads();
  // [B,K,T,D]: the old positions, the new ones, and zeros.
  Value Present(int input, const Value& now);
  void AddMasks();
  // One more score per row, which takes part in the softmax only.
  void AddSink();
  Value Number(int64_t x) { return b_.Scalar(DType::kI64, static_cast<double>(x)); }

  OnnxImport& node_;
  OnnxBuild b_;
  AttentionCore core_;
  int64_t heads_ = 0, kv_heads_ = 0, window_ = -1, total_ = 0;
  int64_t rotary_ = 0, interleaved_ = 0, smooth_ = 0;
  double scale_ = 0;
  // Whether there are no old positions. If that depends on symbolic sizes, is_prompt_ has the
  // answer at run time, of type bool[].
  bool prompt_ = false, may_be_prompt_ = false;
  Value is_prompt_;
  Value past_;  // [B,1,1,1]
  Value end_;   // [B,1,1,1], the number of keys
};

absl::Status GroupedAttention::ReadAttributes() {
  LEMMA_ASSIGN_OR_RETURN(heads_, node_.Int("num_heads"));
  LEMMA_ASSIGN_OR_RETURN(kv_heads_, node_.Int("kv_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(scale_, node_.Float("scale", 0.0));
  LEMMA_ASSIGN_OR_RETURN(core_.cap, node_.Float("softcap", 0.0));
  LEMMA_ASSIGN_OR_RETURN(window_, node_.Int("local_window_size", -1));
  LEMMA_ASSIGN_OR_RETURN(rotary_, node_.Int("do_rotary", 0));
  LEMMA_ASSIGN_OR_RETURN(interleaved_, node_.Int("rotary_interleaved", 0));
  LEMMA_ASSIGN_OR_RETURN(smooth_, node_.Int("smooth_softmax", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t qk_output, node_.Int("qk_output", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t width, node_.Int("kv_cache_bit_width", 0));
  if (qk_output != 0) return node_.Unsupported(absl::StrCat("qk_output = ", qk_output));
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    LEMMA_ASSIGN_OR_RETURN(std::string type, node_.String(name, "NONE"));
    if (type != "NONE" || width != 0) return node_.Unsupported("a quantized cache");
  }
  if (kv_heads_ >= 1 && heads_ >= 1 && heads_ <= kMaxHeads && heads_ % kv_heads_ == 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("kv_num_heads ", kv_heads_, " must divide num_heads ", heads_));
}

absl::Status GroupedAttention::ReadHeads() {
  LEMMA_ASSIGN_OR_RETURN(Value q, node_.Input(kQuery));
  if (node_.HasInput(kKey) != node_.HasInput(kValue)) {
    return absl::InvalidArgumentError("key and value must both be given, or neither");
  }
  if (node_.HasInput(kKey)) {
    core_.q = SplitHeads(b_, q, heads_);
    core_.k = SplitHeads(b_, b_.Input(kKey), kv_heads_);
    core_.v = SplitHeads(b_, b_.Input(kValue), kv_heads_);
    return b_.status();
  }
  const Value packed = SplitHeads(b_, q, heads_ + 2 * kv_heads_);
  std::vector<Value> parts = Split(b_, packed, 1, {heads_, kv_heads_, kv_heads_});
  core_.q = parts[0];
  core_.k = parts[1];
  core_.v = parts[2];
  return b_.status();
}

absl::Status GroupedAttention::ReadLengths() {
  LEMMA_ASSIGN_OR_RETURN(Value last, node_.Input(kLastKey));
  LEMMA_ASSIGN_OR_RETURN(Tensor total, node_.ConstantInput(kTotal));
  const int64_t batch = core_.q.shape()[0], length = core_.q.shape()[2];
  if (core_.k.shape()[2] != length) return node_.Unsupported("keys of another length than queries");
  const IndexExpr more =
      total.size() == 1 ? ToExpr(total.AtInt(0)) - ToExpr(length) : IndexExpr(-1);
  if (Decide(Ge(more, 0)) == false) {
    return absl::InvalidArgumentError(
        "total_sequence_length must be one number, at least that of "
        "the query's positions");
  }
  total_ = total.AtInt(0);
  if (!IsSymbolic(total_) && total_ > kMaxPositions) {
    return node_.Unsupported(absl::StrCat(total_, " positions"));
  }
  const std::optional<bool> has_past = Decide(Ge(more, 1));
  prompt_ = has_past == false;
  may_be_prompt_ = has_past != true;
  end_ = b_.Add(b_.Reshape(b_.Cast(last, DType::kI64), {batch, 1, 1, 1}), 1.0);
  const Value none = Filled(node_, b_, DType::kI64, {batch, 1, 1, 1}, 0);
  const Value before = IsSymbolic(length) ? b_.Sub(end_, SizeAsNumber(b_, length))
                                          : b_.Add(end_, -static_cast<double>(length));
  if (prompt_) {
    past_ = none;
  } else if (may_be_prompt_) {
    is_prompt_ = b_.Op("equal", {SizeAsNumber(b_, total_), SizeAsNumber(b_, length)});
    past_ = b_.Op("where", {is_prompt_, none, before});
  } else {
    past_ = before;
  }
  for (int input : {kPastKey, kPastValue}) {
    if (!node_.HasInput(input)) continue;
    LEMMA_ASSIGN_OR_RETURN(Value past, node_.Input(input));
    if (past.type().rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input ", input, " must have rank 4, not ", past.type().ToString()));
    }
    const auto longer = ToSize(Max(ToExpr(total_), ToExpr(past.shape()[2])));
    if (!longer) return node_.Unsupported("this length of the cache");
    total_ = *longer;
  }
  return b_.status();
}

void GroupedAttention::RotateHeads() {
  if (rotary_ == 0) return;
  const int64_t batch = core_.q.shape()[0], length = core_.q.shape()[2];
  Value positions;
  if (node_.HasInput(kPositions)) {
    const Value given = b_.Input(kPositions);
    if (!given) return;
    // Without old positions, only the first number counts, for the whole batch.
    Value first = given;
    if (may_be_prompt_ && ProductOf(given.shape()) != 0) {
      first = Slice(b_, b_.Reshape(given, {ProductOf(given.shape())}), 0, 0, 1);
    }
    positions = PositionsFrom(node_, b_, first, batch, length);
    if (is_prompt_) {
      const Value all = b_.Cast(PositionsFrom(node_, b_, given, batch, length), DType::kI64);
      positions = b_.Op("where", {is_prompt_, b_.Cast(positions, DType::kI64), all});
    }
  } else {
    positions = b_.Add(Positions(node_, b_, length, 2, 1), b_.Reshape(past_, {batch, 1}));
  }
  Rotation rotation;
  rotation.interleaved = interleaved_ != 0;
  rotation.cos = b_.Op("gather", {b_.Input(kCos), positions}, {{"axis", int64_t{0}}});
  rotation.sin = b_.Op("gather", {b_.Input(kSin), positions}, {{"axis", int64_t{0}}});
  if (!rotation.cos) return;
  rotation.width = 2 * rotation.cos.shape().back();
  core_.q = Rotate(b_, core_.q, rotation);
  core_.k = Rotate(b_, core_.k, rotation);
}

Value GroupedAttention::Present(int input, const Value& now) {
  if (!now) return now;
  Shape shape = now.shape();
  if (!node_.HasInput(input)) {
    if (shape[2] == total_) return now;
    shape[2] = total_;
    const Value zeros = Expand(b_, b_.Scalar(now.dtype(), 0), shape);
    return WriteAt(node_, b_, zeros, now, past_, 2, false);
  }
  shape[2] = total_;
  Value old = b_.Input(input);
  if (!old) return old;
  Shape pads(8, 0);
  const auto added = ToSize(ToExpr(total_) - ToExpr(old.shape()[2]));
  if (!added) return b_.Take<Value>(node_.Unsupported("this length of the cache"));
  pads[6] = *added;
  if (pads[6] != 0) old = b_.Op("pad", {old}, {{"pads", pads}});
  const Value is_old = b_.Op("less", {Positions(node_, b_, total_, 4, 2), past_});
  old = b_.Op("where", {is_old, old, b_.Scalar(now.dtype(), 0)});
  return WriteAt(node_, b_, old, now, past_, 2, false);
}

void GroupedAttention::AddMasks() {
  const int64_t length = core_.q.shape()[2];
  const Value row = b_.Add(Positions(node_, b_, length, 4, 2), past_);
  const Value column = Positions(node_, b_, total_, 4, 3);
  Value allowed = b_.Op("less_equal", {column, row});
  if (may_be_prompt_) allowed = b_.Op("and", {allowed, b_.Op("less", {column, end_})});
  if (window_ > 0) {
    const Value first = b_.Sub(row, Number(window_));
    allowed = b_.Op("and", {allowed, b_.Op("greater", {column, first})});
  }
  core_.bias = BiasOf(b_, allowed, core_.q.dtype());
  core_.may_hide_rows = may_be_prompt_ && window_ > 0;  // of padding
  if (!node_.HasInput(kBias)) return;
  core_.bias = b_.Add(core_.bias, b_.Cast(b_.Input(kBias), core_.q.dtype()));
}

void GroupedAttention::AddSink() {
  if (!node_.HasInput(kSink) && smooth_ == 0) return;
  const Shape &q = core_.q.shape(), column = {q[0], q[1], q[2], 1};
  Value sink = Filled(node_, b_, core_.q.dtype(), column, 0);
  if (node_.HasInput(kSink)) {
    const Value per_head = b_.Cast(b_.Input(kSink), core_.q.dtype());
    sink = Expand(b_, b_.Reshape(per_head, {1, q[1], 1, 1}), column);
  }
  core_.score_mod = [this, sink](const Value& x) { return b_.Concat({x, sink}, 3); };
  core_.prob_mod = [this](const Value& p) { return Slice(b_, p, 3, 0, total_); };
}

Values GroupedAttention::Run() {
  LEMMA_RETURN_IF_ERROR(ReadAttributes());
  LEMMA_RETURN_IF_ERROR(ReadHeads());
  LEMMA_RETURN_IF_ERROR(ReadLengths());
  const DType dtype = core_.q.dtype();
  RotateHeads();
  const Value key = Present(kPastKey, core_.k), value = Present(kPastValue, core_.v);
  if (!b_.status().ok()) return b_.status();
  core_.k = key;
  core_.v = value;
  // f16 and bf16 are computed in f32.
  for (Value* x : {&core_.q, &core_.k, &core_.v}) *x = b_.Cast(*x, DType::kF32);
  core_.scale = scale_ == 0 ? DefaultScale(core_.q) : scale_;
  AddMasks();
  AddSink();
  const Value y = b_.Cast(MergeHeads(b_, Attend(node_, b_, core_).y), dtype);
  if (!b_.status().ok()) return b_.status();
  return std::vector<Value>{y, key, value};
}

}  // namespace

std::vector<OnnxImporter> GroupedAttentionComposites() {
  return {{"com.microsoft.GroupQueryAttention",
           [](OnnxImport& node) { return GroupedAttention(node).Run(); }}};
}

}  // namespace lemma::ops
