// Attention, QAttention and MultiHeadAttention of com.microsoft.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/quantized.h"
#include "graph/onnx/composites/transformer/core.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/shapes.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

// B is the batch, H counts heads, L queries, S keys.
class ContribAttention {
 public:
  explicit ContribAttention(OnnxImport& node) : node_(node), b_(node) {}
  Values ImportAttention();
  Values ImportQuantized();
  Values ImportMultiHead();

 private:
  absl::Status ReadAttributes();
  // Each of these gives query, key and value [B,H,.,.] in `core_`, before the past is added.
  absl::Status ProjectInput();
  absl::Status ProjectQuantized();
  absl::Status ReadHeads();
  absl::Status SplitProjected(const Value& y, const std::vector<int64_t>& sizes);
  // Whether the input has rank 3 and the weights have rank 2.
  absl::Status CheckRanks(const Value& x, const Value& w) const;
  // The results for projected heads; numbers of inputs, -1: there is none.
  Values AttendProjected(int mask, int past, int bias);
  void AddBias(int input, bool query_only);
  // `past` keys before the present ones; the type that the core computes in.
  void AddPast(const Value& past_key, const Value& past_value);
  // The bias of the scores: the filter value where the padding mask hides a key, -inf where the
  // order of positions does, and the input `bias`.
  void AddMasks(int padding, int bias);
  Value Filter(const Value& allowed) {
    return b_.Op("where", {allowed, Number(0), Number(filter_)});
  }
  Value PaddingBias(int input);
  Value Number(double x) { return b_.Scalar(core_.q.dtype(), x); }
  Value Position(int64_t count, int axis) { return Positions(node_, b_, count, 4, axis); }
  void Widen();

  OnnxImport& node_;
  OnnxBuild b_;
  AttentionCore core_;
  Value present_key_, present_value_;
  DType dtype_ = DType::kF32;  // of the inputs
  int64_t heads_ = 0, past_ = 0;
  double filter_ = 0, scale_ = 0;
  bool causal_ = false;
};

absl::Status ContribAttention::ReadAttributes() {
  LEMMA_ASSIGN_OR_RETURN(heads_, node_.Int("num_heads"));
  LEMMA_ASSIGN_OR_RETURN(scale_, node_.Float("scale", 0.0));
  LEMMA_ASSIGN_OR_RETURN(filter_, node_.Float("mask_filter_value", -10000.0));
  LEMMA_ASSIGN_OR_RETURN(int64_t unidirectional, node_.Int("unidirectional", 0));
  causal_ = unidirectional != 0;
  if (heads_ >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("num_heads is ", heads_));
}

// f16 and bf16 are computed in f32.
void ContribAttention::Widen() {
  dtype_ = core_.q.dtype();
  if (dtype_ != DType::kF64) {
    for (Value* x : {&core_.q, &core_.k, &core_.v}) *x = b_.Cast(*x, DType::kF32);
  }
  core_.softmax = core_.q.dtype();
  core_.scale = scale_ == 0 ? DefaultScale(core_.q) : scale_;
}

absl::Status ContribAttention::ProjectInput() {
  LEMMA_ASSIGN_OR_RETURN(Value x, node_.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value w, node_.Input(1));
  LEMMA_ASSIGN_OR_RETURN(std::vector<int64_t> sizes,
                         node_.Ints("qkv_hidden_sizes", std::vector<int64_t>{}));
  LEMMA_RETURN_IF_ERROR(CheckRanks(x, w));
  const int64_t width = w.shape()[1];
  if (sizes.empty()) sizes = {width / 3, width / 3, width / 3};
  if (sizes.size() != 3 || sizes[0] + sizes[1] + sizes[2] != width || sizes[0] != sizes[1]) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights ", ToString(w.shape()), " do not give query, key and value"));
  }
  Value y = b_.Op("matmul", {x, w});
  if (node_.HasInput(2)) y = b_.Add(y, b_.Input(2));
  return SplitProjected(y, sizes);
}

absl::Status ContribAttention::ProjectQuantized() {
  enum { kX, kWeight, kBias, kXScale, kWeightScale, kMask, kXZero, kWeightZero };
  LEMMA_ASSIGN_OR_RETURN(Value x, node_.Input(kX));
  LEMMA_ASSIGN_OR_RETURN(Value w, node_.Input(kWeight));
  LEMMA_RETURN_IF_ERROR(CheckRanks(x, w));
  const int64_t width = w.shape()[1];
  if (width % 3 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights ", ToString(w.shape()), " do not give query, key and value"));
  }
  auto zero = [&](int i) {
    return node_.HasInput(i) ? ScalarOrPerColumn(b_, b_.Input(i)) : Value();
  };
  const QuantizedMatrix left = {x, ScalarOrPerColumn(b_, b_.Input(kXScale)), zero(kXZero)};
  const QuantizedMatrix right = {w, ScalarOrPerColumn(b_, b_.Input(kWeightScale)),
                                 zero(kWeightZero)};
  LEMMA_RETURN_IF_ERROR(CheckFactors(node_, left, right));
  return SplitProjected(FloatProduct(b_, left, right, b_.Input(kBias)),
                        {width / 3, width / 3, width / 3});
}

absl::Status ContribAttention::CheckRanks(const Value& x, const Value& w) const {
  if (x.type().rank() == 3 && w.type().rank() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("input ", ToString(x.shape()), " and weights ",
                                                 ToString(w.shape()), " must be of rank 3 and 2"));
}

absl::Status ContribAttention::SplitProjected(const Value& y, const std::vector<int64_t>& sizes) {
  if (!b_.status().ok()) return b_.status();
  std::vector<Value> parts = Split(b_, y, 2, sizes);
  Value* targets[] = {&core_.q, &core_.k, &core_.v};
  for (int i = 0; i < 3; ++i) *targets[i] = SplitHeads(b_, parts[i], heads_);
  return b_.status();
}

// Parts of [B,L,H,parts,D] as [B,H,L,D] each.
std::vector<Value> Unpacked(OnnxBuild& b, const Value& x, int64_t parts) {
  std::vector<Value> result;
  const Shape& s = x.shape();
  for (int64_t i = 0; i < parts; ++i) {
    const Value part = b.Reshape(Slice(b, x, 3, i, i + 1), {s[0], s[1], s[2], s[4]});
    result.push_back(b.Transpose(part, {0, 2, 1, 3}));
  }
  return result;
}

// The query is [B,L,H*D], the key and the value [B,S,H*D] or [B,H,S,D]; key and value, or all three
// may be packed in one tensor of rank 5.
absl::Status ContribAttention::ReadHeads() {
  LEMMA_ASSIGN_OR_RETURN(Value q, node_.Input(0));
  const bool has_key = node_.HasInput(1), has_value = node_.HasInput(2);
  Value k = has_key ? b_.Input(1) : Value(), v = has_value ? b_.Input(2) : Value();
  auto packs = [&](const Value& x, int64_t parts) {
    return x && x.type().rank() == 5 && x.shape()[2] == heads_ && x.shape()[3] == parts;
  };
  auto in_heads = [&](const Value& x) {
    return x.type().rank() == 4 ? x : SplitHeads(b_, x, heads_);
  };
  if (!has_key && !has_value && packs(q, 3)) {
    std::vector<Value> parts = Unpacked(b_, q, 3);
    core_.q = parts[0];
    core_.k = parts[1];
    core_.v = parts[2];
  } else if (has_key && !has_value && packs(k, 2)) {
    std::vector<Value> parts = Unpacked(b_, k, 2);
    core_.q = SplitHeads(b_, q, heads_);
    core_.k = parts[0];
    core_.v = parts[1];
  } else if (has_key && has_value) {
    core_.q = SplitHeads(b_, q, heads_);
    core_.k = in_heads(k);
    core_.v = in_heads(v);
  } else {
    return node_.Unsupported("this form of query, key and value");
  }
  if (node_.HasInput(3)) AddBias(3, k && k.type().rank() == 4);
  return b_.status();
}

// The bias of query, key and value, one after the other; keys in heads have theirs already.
void ContribAttention::AddBias(int input, bool query_only) {
  const Value bias = b_.Input(input);
  if (!bias || !b_.status().ok()) return;
  const int64_t qk = heads_ * core_.q.shape()[3], v = heads_ * core_.v.shape()[3];
  if (bias.shape() != Shape{2 * qk + v}) {
    Fail(b_, absl::StrCat("bias ", ToString(bias.shape()), " must have ", 2 * qk + v, " elements"));
    return;
  }
  std::vector<Value> parts = Split(b_, bias, 0, {qk, qk, v});
  Value* targets[] = {&core_.q, &core_.k, &core_.v};
  for (int i = 0; i < (query_only ? 1 : 3); ++i) {
    const int64_t size = (*targets[i]).shape()[3];
    *targets[i] = b_.Add(*targets[i], b_.Reshape(parts[i], {1, heads_, 1, size}));
    if (!*targets[i]) return;
  }
}

void ContribAttention::AddPast(const Value& past_key, const Value& past_value) {
  if (past_key && past_value) {
    past_ = past_key.shape().size() == 4 ? past_key.shape()[2] : 0;
    core_.k = b_.Concat({past_key, core_.k}, 2);
    core_.v = b_.Concat({past_value, core_.v}, 2);
  }
  present_key_ = core_.k;
  present_value_ = core_.v;
}

// The mask counts the keys of each row, [B]; or it says where they end and where they start, [2B];
// or it is not 0 where a key is seen, [B,S] or [B,L,S].
Value ContribAttention::PaddingBias(int input) {
  const Value mask = b_.Input(input);
  if (!mask) return mask;
  const int64_t batch = core_.q.shape()[0], queries = core_.q.shape()[2], keys = core_.k.shape()[2];
  const Shape& s = mask.shape();
  auto filter_mask = [&](Shape shape) {
    const Value zero = b_.Scalar(mask.dtype(), 0);
    return Filter(b_.Op("greater", {b_.Reshape(mask, std::move(shape)), zero}));
  };
  // A mask of symbolic width is taken to have one number for each key.
  const bool is_symbolic = s.size() == 2 && s[0] == batch && IsSymbolic({s[1], keys});
  if (s == Shape{batch, keys} || is_symbolic) return filter_mask({batch, 1, 1, keys});
  if (s == Shape{batch, queries, keys}) return filter_mask({batch, 1, queries, keys});
  const bool has_starts = s == Shape{ProductOf({2, batch})};
  if (!has_starts && s != Shape{batch}) {
    return b_.Take<Value>(node_.Unsupported(absl::StrCat("a mask ", ToString(s))));
  }
  const Value column = Position(keys, 3);
  std::vector<Value> bounds = {b_.Cast(mask, DType::kI64)};
  if (has_starts) bounds = Split(b_, bounds[0], 0, {batch, batch});
  for (Value& bound : bounds) bound = b_.Reshape(bound, {batch, 1, 1, 1});
  Value allowed = b_.Op("less", {column, bounds[0]});
  if (has_starts) {
    allowed = b_.Op("and", {allowed, b_.Op("greater_equal", {column, bounds[1]})});
  }
  return Filter(allowed);
}

void ContribAttention::AddMasks(int padding, int bias) {
  if (!b_.status().ok()) return;
  const int64_t queries = core_.q.shape()[2], keys = core_.k.shape()[2];
  if (node_.HasInput(padding)) core_.bias = PaddingBias(padding);
  if (causal_ && queries > 1) {
    if (keys != ToSize(ToExpr(past_) + ToExpr(queries))) {
      b_.Take<Value>(node_.Unsupported("unidirectional with keys that are not the queries'"));
      return;
    }
    const Value row = b_.Add(Position(queries, 2), SizeAsNumber(b_, past_));
    const Value allowed = b_.Op("less_equal", {Position(keys, 3), row});
    core_.bias = SumOf(b_, core_.bias, BiasOf(b_, allowed, core_.q.dtype()));
  }
  if (bias >= 0 && node_.HasInput(bias)) {
    core_.bias = SumOf(b_, core_.bias, b_.Cast(b_.Input(bias), core_.q.dtype()));
  }
}

Values ContribAttention::ImportAttention() {
  enum { kMask = 3, kPast, kBias, kPastLength };
  LEMMA_RETURN_IF_ERROR(ReadAttributes());
  LEMMA_ASSIGN_OR_RETURN(int64_t rotary, node_.Int("do_rotary", 0));
  node_.FindAttr("rotary_embedding_dim");
  node_.FindAttr("past_present_share_buffer");
  if (rotary != 0) return node_.Unsupported("do_rotary = 1");
  if (node_.HasInput(kPastLength)) return node_.Unsupported("past_sequence_length");
  LEMMA_RETURN_IF_ERROR(ProjectInput());
  return AttendProjected(kMask, kPast, kBias);
}

Values ContribAttention::ImportQuantized() {
  enum { kMask = 5, kPast = 8 };
  LEMMA_RETURN_IF_ERROR(ReadAttributes());
  LEMMA_ASSIGN_OR_RETURN(int64_t rotary, node_.Int("do_rotary", 0));
  LEMMA_ASSIGN_OR_RETURN(int64_t shares, node_.Int("past_present_share_buffer", 0));
  if (rotary != 0 || shares != 0) {
    return node_.Unsupported("do_rotary and past_present_share_buffer");
  }
  LEMMA_RETURN_IF_ERROR(ProjectQuantized());
  return AttendProjected(kMask, kPast, -1);
}

Values ContribAttention::AttendProjected(int mask, int past_input, int bias) {
  Value past_key, past_value;
  if (node_.HasInput(past_input)) {
    const Value past = b_.Input(past_input);
    if (past.type().rank() != 5 || past.shape()[0] != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("past ", ToString(past.shape()), " must be [2,B,H,P,D]"));
    }
    const Shape half(past.shape().begin() + 1, past.shape().end());
    past_key = b_.Reshape(Slice(b_, past, 0, 0, 1), half);
    past_value = b_.Reshape(Slice(b_, past, 0, 1, 2), half);
  }
  AddPast(past_key, past_value);
  if (!b_.status().ok()) return b_.status();
  Value present;
  if (node_.num_outputs() > 1) {
    Shape half = present_key_.shape();
    half.insert(half.begin(), 1);
    present = b_.Concat({b_.Reshape(present_key_, half), b_.Reshape(present_value_, half)}, 0);
  }
  Widen();
  AddMasks(mask, bias);
  const Value y = b_.Cast(MergeHeads(b_, Attend(node_, b_, core_).y), dtype_);
  if (!b_.status().ok()) return b_.status();
  return std::vector<Value>{y, present};
}

Values ContribAttention::ImportMultiHead() {
  enum { kMask = 4, kBias, kPastKey, kPastValue, kPastLength, kIndirection };
  LEMMA_RETURN_IF_ERROR(ReadAttributes());
  for (int i : {kPastLength, kIndirection}) {
    if (node_.HasInput(i)) return node_.Unsupported(absl::StrCat("input ", i));
  }
  LEMMA_RETURN_IF_ERROR(ReadHeads());
  const bool past = node_.HasInput(kPastKey) && node_.HasInput(kPastValue);
  AddPast(past ? b_.Input(kPastKey) : Value(), past ? b_.Input(kPastValue) : Value());
  if (!b_.status().ok()) return b_.status();
  Widen();
  AddMasks(kMask, kBias);
  const AttentionValues r = Attend(node_, b_, core_);
  const Value y = b_.Cast(MergeHeads(b_, r.y), dtype_), scores = b_.Cast(r.biased, dtype_);
  if (!b_.status().ok()) return b_.status();
  return std::vector<Value>{y, present_key_, present_value_, scores};
}

}  // namespace

std::vector<OnnxImporter> ContribAttentionComposites() {
  return {{"com.microsoft.Attention",
           [](OnnxImport& node) { return ContribAttention(node).ImportAttention(); }},
          {"com.microsoft.QAttention",
           [](OnnxImport& node) { return ContribAttention(node).ImportQuantized(); }},
          {"com.microsoft.MultiHeadAttention",
           [](OnnxImport& node) { return ContribAttention(node).ImportMultiHead(); }}};
}

}  // namespace lemma::ops
