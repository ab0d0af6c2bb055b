// LinearAttention, unrolled over its time steps, and the convolution that precedes it.
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/transformer/parts.h"
#include "graph/onnx/composites/transformer/shapes.h"

namespace lemma::ops {
namespace {

using Values = absl::StatusOr<std::vector<Value>>;

constexpr int64_t kMaxSteps = 1024;

// B is the batch, T the time, H and K count heads of the query and of the key.
class LinearRecurrence {
 public:
  LinearRecurrence(OnnxImport& node, OnnxBuild& b) : node_(node), b_(b) {}
  Values Run();

 private:
  enum Input { kQuery, kKey, kValue, kPastState, kDecay, kBeta, kEraseGate };

  absl::Status Read();
  absl::Status CheckRule(const std::string& rule);
  // Input `i`, [B,T,heads*D], as f32 [T,B,heads,D].
  Value ByTime(int i, int64_t heads);
  // A gate with one number per head, or one for all heads, as f32 [T,B,heads or 1,1].
  Value Gate(int i);
  Value At(const Value& x, int64_t t) {
    if (!x) return x;
    const Shape& s = x.shape();
    return b_.Reshape(Slice(b_, x, 0, t, t + 1), {s[1], s[2], s[3]});
  }
  Value Column(const Value& x) {
    if (!x) return x;
    return b_.Reshape(x, {x.shape()[0], x.shape()[1], x.shape()[2], 1});
  }
  Value Row(const Value& x) {
    if (!x) return x;
    return b_.Reshape(x, {x.shape()[0], x.shape()[1], 1, x.shape()[2]});
  }
  // S = e^g S + k (beta (v - (e^g S)ᵀ k))ᵀ, without the terms that the rule lacks.
  Value NextState(Value state, int64_t t);

  OnnxImport& node_;
  OnnxBuild& b_;
  int64_t q_heads_ = 0, kv_heads_ = 0;
  double scale_ = 0;
  Value q_, k_, v_, decay_, beta_, erase_;
};

Value LinearRecurrence::ByTime(int i, int64_t heads) {
  const Value x = b_.Cast(b_.Input(i), DType::kF32);
  if (!x) return x;
  const Shape& s = x.shape();
  if (s.size() != 3 || heads < 1 || s[2] % heads != 0) {
    Fail(b_, absl::StrCat("input ", i, " ", ToString(s), " must be [batch, time, ", heads,
                          " heads * size]"));
    return Value();
  }
  return b_.Transpose(b_.Reshape(x, {s[0], s[1], heads, s[2] / heads}), {1, 0, 2, 3});
}

Value LinearRecurrence::Gate(int i) {
  if (!node_.HasInput(i)) return Value();
  const Value x = b_.Input(i);
  if (!x) return x;
  const bool one = x.type().rank() == 3 && x.shape()[2] == 1;
  return ByTime(i, one ? 1 : kv_heads_);
}

absl::Status LinearRecurrence::CheckRule(const std::string& rule) {
  const bool gated = rule == "gated" || rule == "gated_delta";
  const bool delta = rule == "delta" || rule == "gated_delta";
  if (!gated && !delta && rule != "linear") {
    return absl::InvalidArgumentError(
        absl::StrCat("update_rule is ", rule, ", it must be linear, gated, delta or gated_delta"));
  }
  if (gated != node_.HasInput(kDecay) || delta != node_.HasInput(kBeta)) {
    return absl::InvalidArgumentError(absl::StrCat("update_rule ", rule,
                                                   gated ? " needs" : " has no", " decay and ",
                                                   delta ? "needs" : "has no", " beta"));
  }
  if (!delta && node_.HasInput(kEraseGate)) {
    return absl::InvalidArgumentError(absl::StrCat("update_rule ", rule, " has no erase_gate"));
  }
  return absl::OkStatus();
}

absl::Status LinearRecurrence::Read() {
  LEMMA_ASSIGN_OR_RETURN(q_heads_, node_.Int("q_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(kv_heads_, node_.Int("kv_num_heads"));
  LEMMA_ASSIGN_OR_RETURN(scale_, node_.Float("scale", 0.0));
  LEMMA_ASSIGN_OR_RETURN(std::string rule, node_.String("update_rule", "gated_delta"));
  node_.FindAttr("chunk_size");  // says how to compute, not what
  LEMMA_RETURN_IF_ERROR(CheckRule(rule));
  if (kv_heads_ < 1 || q_heads_ < 1 || q_heads_ % kv_heads_ != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("q_num_heads ", q_heads_, " must be a multiple of kv_num_heads ", kv_heads_));
  }
  q_ = ByTime(kQuery, q_heads_);
  k_ = ByTime(kKey, kv_heads_);
  v_ = ByTime(kValue, kv_heads_);
  if (node_.HasInput(kDecay)) decay_ = ByTime(kDecay, kv_heads_);
  beta_ = Gate(kBeta);
  if (node_.HasInput(kEraseGate)) erase_ = ByTime(kEraseGate, kv_heads_);
  if (!b_.status().ok()) return b_.status();
  const Shape &q = q_.shape(), &k = k_.shape(), &v = v_.shape();
  bool fits = k[0] == q[0] && v[0] == q[0] && k[1] == q[1] && v[1] == q[1] && k[3] == q[3];
  for (const Value& gate : {decay_, beta_, erase_}) {
    if (gate) fits &= gate.shape()[0] == q[0] && gate.shape()[1] == q[1];
  }
  if (decay_) fits &= decay_.shape()[3] == k[3] || decay_.shape()[3] == 1;
  if (beta_) fits &= beta_.shape()[3] == 1;
  if (erase_) fits &= erase_.shape() == k_.shape();
  if (!fits) return absl::InvalidArgumentError("the inputs' sizes do not fit the numbers of heads");
  if (q[0] < 1 || q[0] > kMaxSteps) return node_.Unsupported(absl::StrCat(q[0], " time steps"));
  if (scale_ == 0) scale_ = 1 / std::sqrt(static_cast<double>(q[3]));
  return absl::OkStatus();
}

Value LinearRecurrence::NextState(Value state, int64_t t) {
  const Value k = At(k_, t);
  Value v = At(v_, t);
  if (decay_) state = b_.Mul(state, Column(b_.Op("exp", {At(decay_, t)})));
  if (beta_) {
    const Value erased = erase_ ? b_.Mul(At(erase_, t), k) : k;
    const Value known = b_.Op("matmul", {Row(erased), state});
    if (known) v = b_.Mul(At(beta_, t), b_.Sub(v, b_.Reshape(known, v.shape())));
  }
  return b_.Add(state, b_.Mul(Column(k), Row(v)));
}

Values LinearRecurrence::Run() {
  LEMMA_RETURN_IF_ERROR(Read());
  LEMMA_ASSIGN_OR_RETURN(Value query, node_.Input(kQuery));
  const int64_t steps = q_.shape()[0], batch = q_.shape()[1], size = v_.shape()[3];
  const Shape states = {batch, kv_heads_, q_.shape()[3], size};
  Value state =
      node_.HasInput(kPastState) ? b_.Input(kPastState) : Filled(node_, b_, DType::kF32, states, 0);
  if (!state) return b_.status();
  const DType state_type = node_.HasInput(kPastState) ? state.dtype() : query.dtype();
  if (state.shape() != states) {
    return absl::InvalidArgumentError(
        absl::StrCat("past_state ", ToString(state.shape()), " must be ", ToString(states)));
  }
  state = b_.Cast(state, DType::kF32);
  std::vector<Value> outputs;
  const Shape grouped = {batch, kv_heads_, q_heads_ / kv_heads_, q_.shape()[3]};
  for (int64_t t = 0; t < steps; ++t) {
    state = NextState(state, t);
    // Query heads that share a state are rows of one product.
    const Value read = b_.Op("matmul", {b_.Reshape(At(q_, t), grouped), state});
    outputs.push_back(b_.Reshape(read, {batch, 1, q_heads_ * size}));
    if (!b_.status().ok()) return b_.status();
  }
  const Value y = b_.Cast(b_.Mul(b_.Concat(outputs, 1), scale_), query.dtype());
  const Value last = b_.Cast(state, state_type);
  if (!b_.status().ok()) return b_.status();
  return std::vector<Value>{y, last};
}

Values ImportLinearAttention(OnnxImport& node) {
  OnnxBuild b(node);
  return LinearRecurrence(node, b).Run();
}

// y[n,c,t] = f(sum(i < k) w[c,0,i] * z[n,c,t+i] + bias[c]), z = the state's k - 1 positions and x.
Values ImportCausalConv(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Value x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(Value w, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(std::string activation, node.String("activation", "none"));
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return absl::InvalidArgumentError(
        absl::StrCat("activation is ", activation, ", it must be none, silu or swish"));
  }
  const Shape &s = x.shape(), &kernel = w.shape();
  if (s.size() != 3 || kernel.size() != 3 || kernel[0] != s[1] || kernel[1] != 1 || kernel[2] < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input ", ToString(s), " and weight ", ToString(kernel), " must be [N,C,L] and [C,1,K]"));
  }
  const Shape states = {s[0], s[1], kernel[2] - 1};
  Value z = x;
  if (node.HasInput(3)) {
    const Value past = b.Input(3);
    if (past && past.shape() != states) {
      return absl::InvalidArgumentError(
          absl::StrCat("past_state ", ToString(past.shape()), " must be ", ToString(states)));
    }
    if (kernel[2] > 1) z = b.Concat({past, x}, 2);
  } else if (kernel[2] > 1) {
    z = b.Op("pad", {x}, {{"pads", Shape{0, 0, kernel[2] - 1, 0, 0, 0}}});
  }
  std::vector<Value> in = {b.Reshape(z, {s[0], s[1], 1, s[2] + kernel[2] - 1}),
                           b.Reshape(w, {s[1], 1, 1, kernel[2]})};
  if (node.HasInput(2)) in.push_back(b.Input(2));
  Value y = b.Reshape(b.Op("conv2d", in, {{"groups", s[1]}}), s);
  if (activation != "none") y = b.Op("silu", {y});
  const Value present = Slice(b, z, 2, s[2], s[2] + kernel[2] - 1);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y, present};
}

}  // namespace

std::vector<OnnxImporter> LinearAttentionComposites() {
  return {{"LinearAttention", ImportLinearAttention}, {"CausalConvWithState", ImportCausalConv}};
}

}  // namespace lemma::ops
