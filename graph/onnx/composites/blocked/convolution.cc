// Conv of com.microsoft.nchwc.
#include "graph/onnx/composites/blocked/convolution.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/onnx/composites/activation.h"
#include "graph/onnx/composites/blocked/layout.h"
#include "graph/ops/convolution/window.h"
#include "graph/sizes/symbolic_size.h"

namespace lemma::ops {
namespace {

// The convolution as it is for plain layouts.
struct Parts {
  Value x, w, bias, sum;  // bias and sum may be empty
  int64_t groups = 1, block = 1;
  int64_t outputs = 0;  // the channels that the node declares
};

// w[k,c,r,s], which lies in memory as [K/b, C, R, S, b] or, if the input's channels are blocked
// too, as [K/b, C/b, R, S, b(c), b(k)].
Value PlainWeight(OnnxBuild& b, const Value& w, int64_t block, bool input_blocks) {
  const Shape& s = w.shape();
  if (!input_blocks) {
    const Value split = b.Reshape(w, {s[0] / block, s[1], s[2], s[3], block});
    return b.Reshape(b.Transpose(split, {0, 4, 1, 2, 3}), s);
  }
  const Value split = b.Reshape(w, {s[0] / block, s[1] / block, s[2], s[3], block, block});
  return b.Reshape(b.Transpose(split, {0, 5, 1, 4, 2, 3}), s);
}

absl::StatusOr<Parts> ReadParts(OnnxImport& node, OnnxBuild& b) {
  Parts p;
  p.block = node.channel_block();
  LEMMA_ASSIGN_OR_RETURN(p.x, node.Input(0));
  LEMMA_ASSIGN_OR_RETURN(p.w, node.Input(1));
  LEMMA_ASSIGN_OR_RETURN(p.groups, node.Int("group", 1));
  if (p.x.type().rank() != 4 || p.w.type().rank() != 4 || IsSymbolic(p.x.shape()[1]) ||
      p.w.shape()[0] % p.block != 0) {
    return node.Unsupported(absl::StrCat("operands ", p.x.type().ToString(), " and ",
                                         p.w.type().ToString(), " with blocks of ", p.block));
  }
  p.outputs = p.w.shape()[0];
  const bool few = p.x.shape()[1] < p.block;  // then the input is not blocked
  const bool depthwise = p.groups > 1 && p.w.shape()[1] == 1;
  if (!few && (p.x.shape()[1] % p.block != 0 || (!depthwise && p.w.shape()[1] % p.block != 0))) {
    return node.Unsupported(absl::StrCat("channels that are no multiple of ", p.block));
  }
  if (!few) p.x = FromBlocked(b, p.x, p.block);
  p.w = PlainWeight(b, p.w, p.block, !few && !depthwise);
  if (node.HasInput(2)) p.bias = b.Input(2);
  if (node.HasInput(3)) p.sum = FromBlocked(b, b.Input(3), p.block);
  if (!b.status().ok()) return b.status();
  return p;
}

// The channels of output and input up to the last one with an element of the weight (or of the
// bias) that is not 0.
struct UsedChannels {
  int64_t outputs = 0, inputs = 0;
};

UsedChannels UsedIn(const Tensor& stored, const Shape& shape, int64_t block, const Tensor* bias) {
  UsedChannels used;
  const int64_t positions = shape[2] * shape[3];
  for (int64_t i = 0; i < stored.size(); ++i) {
    if (stored.AtDouble(i) == 0) continue;
    // i counts [K/b, C/b, positions, b(c), b(k)].
    int64_t rest = i / block;
    const int64_t k = i % block, c = rest % block;
    rest /= block * positions;
    const int64_t blocks = shape[1] / block;
    used.outputs = std::max(used.outputs, rest / blocks * block + k + 1);
    used.inputs = std::max(used.inputs, rest % blocks * block + c + 1);
  }
  for (int64_t k = 0; bias != nullptr && k < bias->size(); ++k) {
    if (bias->AtDouble(k) != 0) used.outputs = std::max(used.outputs, k + 1);
  }
  return used;
}

// The same for a weight [K/b, C, R, S, b], of an input without blocks.
int64_t UsedOutputs(const Tensor& stored, const Shape& shape, int64_t block, const Tensor* bias) {
  int64_t used = 0;
  const int64_t inner = shape[1] * shape[2] * shape[3];
  for (int64_t i = 0; i < stored.size(); ++i) {
    if (stored.AtDouble(i) != 0) {
      used = std::max(used, i / (block * inner) * block + i % block + 1);
    }
  }
  for (int64_t k = 0; bias != nullptr && k < bias->size(); ++k) {
    if (bias->AtDouble(k) != 0) used = std::max(used, k + 1);
  }
  return used;
}

// The same for a convolution of each channel alone.
void RemoveFillingOfGroups(OnnxBuild& b, int64_t used, Parts* p) {
  const auto filled = PaddedChannelsOf(b, p->x);
  if (!filled || p->groups != p->outputs || p->w.shape()[1] != 1 || p->sum) return;
  const int64_t channels = filled->inner.shape()[1];
  if (used > channels) return;
  p->x = filled->inner;
  p->w = First(b, p->w, 0, channels);
  if (p->bias) p->bias = First(b, p->bias, 0, channels);
  p->groups = channels;
}

// ONNX Runtime fills the last block with channels whose weights are 0. Removes those that are
// known to be: an input channel that is appended and meets zeros only, and output channels that
// get nothing but the sum's appended channels.
void RemoveFilling(OnnxImport& node, OnnxBuild& b, bool input_blocks, Parts* p) {
  auto stored = node.ConstantInput(1);
  auto bias = node.HasInput(2) ? node.ConstantInput(2) : absl::StatusOr<Tensor>(Tensor());
  if (!stored.ok() || !bias.ok()) return;
  const Shape shape = p->w.shape();
  const Tensor* known_bias = bias->empty_handle() ? nullptr : &*bias;
  if (p->groups != 1) {
    RemoveFillingOfGroups(b, UsedOutputs(*stored, shape, p->block, known_bias), p);
    return;
  }
  UsedChannels used;
  if (input_blocks) {
    used = UsedIn(*stored, shape, p->block, known_bias);
  } else {
    used = {UsedOutputs(*stored, shape, p->block, known_bias), shape[1]};
  }
  const auto filled = PaddedChannelsOf(b, p->x);
  if (filled && used.inputs <= filled->inner.shape()[1]) {
    p->x = filled->inner;
    p->w = First(b, p->w, 1, p->x.shape()[1]);
  }
  int64_t outputs = std::max(used.outputs, p->outputs - p->block + 1);
  if (p->sum) {
    const auto sum = PaddedChannelsOf(b, p->sum);
    if (!sum || sum->value != 0) return;
    outputs = std::max(outputs, sum->inner.shape()[1]);
    p->sum = FirstChannels(b, p->sum, outputs);
  }
  p->w = First(b, p->w, 0, outputs);
  if (p->bias) p->bias = First(b, p->bias, 0, outputs);
}

// f(0), or nullopt if it is not known.
std::optional<double> ActivationOfZero(OnnxImport& node) {
  auto zero = node.Scalar(DType::kF32, 0);
  auto y = zero.ok() ? ApplyNamedActivation(node, *zero) : zero;
  if (!y.ok()) return std::nullopt;
  // The importer computes constants at once.
  if (!y->node().has_payload() || y->type().num_elements() != 1) return std::nullopt;
  return y->node().payload().AtDouble(0);
}

}  // namespace

// y = f(conv(x, w) + bias + sum)
absl::StatusOr<std::vector<Value>> ImportBlockedConv(OnnxImport& node) {
  OnnxBuild b(node);
  LEMMA_ASSIGN_OR_RETURN(Parts p, ReadParts(node, b));
  LEMMA_ASSIGN_OR_RETURN(auto kernel, KernelOfWeight(node, p.w.shape(), 2));
  LEMMA_ASSIGN_OR_RETURN(OnnxWindow window, ReadOnnxWindow(node, p.x.shape(), kernel));
  const auto filling = ActivationOfZero(node);
  const bool few = p.x.shape()[1] < p.block;
  if (filling) RemoveFilling(node, b, !few, &p);
  std::vector<Value> in = {p.x, p.w};
  if (p.bias) in.push_back(p.bias);
  Attrs attrs = window.ToAttrs();
  attrs["groups"] = p.groups;
  Value y = b.Op("conv2d", std::move(in), std::move(attrs));
  if (p.sum && y && p.sum.shape() != y.shape()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Sum ", ToString(p.sum.shape()), " must be ", ToString(y.shape())));
  }
  if (p.sum) y = b.Add(y, p.sum);
  if (!b.status().ok()) return b.status();
  LEMMA_ASSIGN_OR_RETURN(y, ApplyNamedActivation(node, y));
  y = ToBlocked(b, PadChannels(b, y, p.outputs, filling.value_or(0)), p.block);
  if (!b.status().ok()) return b.status();
  return std::vector<Value>{y};
}

}  // namespace lemma::ops
