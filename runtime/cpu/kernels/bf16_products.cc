#include "runtime/cpu/kernels/bf16_products.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "runtime/cpu/kernels/bf16_speed.h"
#include "runtime/cpu/kernels/dnnl_util.h"

namespace lemma::cpu {
namespace {

// Whether the node gives its operand's elements, each in its place, in another type.
bool Converts(const Node& node, DType from, DType to) {
  if (!node.is_op() || node.inputs().size() != 1 || node.num_outputs() != 1) return false;
  if (node.inputs()[0].dtype() != from || node.type(0).dtype != to) return false;
  const NodeTraits& traits = NodeTraitsOf(node);
  return traits.pointwise && traits.element && node.type(0).shape == node.inputs()[0].shape() &&
         traits.element->body.kind() == ScalarExpr::Kind::kRead;
}

// Whether the elements of an f32 or bf16 tensor are 0 or have a usual magnitude, up to rounding to
// bf16. The instructions take subnormal numbers as 0; with factors of a usual magnitude, what is
// lost then is below 2^-26 for each term.
bool HasUsualMagnitudes(const Tensor& tensor) {
  constexpr uint32_t kLeast = (-126 + 127) << 7, kMost = (100 + 127) << 7;  // as bits of bf16
  const auto* halves = static_cast<const uint16_t*>(tensor.raw());
  const int64_t step = tensor.dtype() == DType::kF32 ? 2 : 1;  // the upper half of an f32
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const uint32_t magnitude = halves[i * step + step - 1] & 0x7fffU;
    const bool is_zero = magnitude == 0 && tensor.AtDouble(i) == 0;
    if (!is_zero && (magnitude < kLeast || magnitude > kMost)) return false;
  }
  return true;
}

// Answers about nodes of static values.
class KnownValues {
 public:
  // Whether the value holds only bf16 numbers of usual magnitudes, as its constants and the
  // operators that move or convert them show. bf16 weights without values count as such. `rounded`:
  // whether an operator behind the value rounds it to bf16.
  bool AreBf16(const Value& v, bool rounded = false) {
    const Node& node = v.node();
    if (v.dtype() != DType::kF32 && v.dtype() != DType::kBF16) return false;
    if (!node.is_op() && !node.has_payload()) return v.dtype() == DType::kBF16;
    Answer& answer = AnswerFor(v.node_ptr());
    std::optional<bool>& known = answer.are_bf16[rounded ? 1 : 0];
    if (!known) known = node.has_payload() ? Holds(node.payload(), rounded) : Gives(node, rounded);
    return *known;
  }

 private:
  struct Answer {
    std::weak_ptr<const Node> node;
    std::optional<bool> are_bf16[2];
  };

  Answer& AnswerFor(const NodePtr& node) {
    constexpr size_t kMost = 100000;
    if (answers_.size() > kMost) answers_.clear();
    std::unique_ptr<Answer>& answer = answers_[node.get()];
    // The address may have belonged to another node.
    if (answer == nullptr || answer->node.lock() != node) {
      answer = std::make_unique<Answer>();
      answer->node = node;
    }
    return *answer;
  }

  static bool Holds(const Tensor& values, bool rounded) {
    return (rounded || values.dtype() == DType::kBF16 || HoldsBf16(values)) &&
           HasUsualMagnitudes(values);
  }

  bool Gives(const Node& node, bool rounded) {
    const NodeTraits& traits = NodeTraitsOf(node);
    const bool rounds = RoundsToBf16(node);
    const bool moves = traits.reshapes || !traits.views.empty() || traits.concat_dim.has_value();
    return (moves || rounds || WidensBf16(node)) &&
           std::all_of(node.inputs().begin(), node.inputs().end(),
                       [&](const Value& in) { return AreBf16(in, rounded || rounds); });
  }

  absl::flat_hash_map<const Node*, std::unique_ptr<Answer>> answers_;
};

}  // namespace

bool HoldsBf16(const Tensor& tensor) {
  for (const float x : tensor.data<float>()) {
    if (BFloat16ToFloat(FloatToBFloat16(x)) != x && x == x) return false;
  }
  return true;
}

bool HasBf16Products() {
  static const bool has = [] {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }();
  return has;
}

bool PrefersBf16Products() {
  static const bool prefers = [] {
    if (!HasBf16Products()) return false;
    for (const char* variable : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
      const char* most = std::getenv(variable);
      if (most == nullptr) continue;
      for (const char* name : {"AVX512_CORE_BF16", "AVX512_CORE_AMX"}) {
        if (std::strcmp(most, name) == 0) return true;
      }
    }
    constexpr double kClearly = 1.25;
    return dnnl::get_effective_cpu_isa() == dnnl::cpu_isa::avx512_core_amx ||
           Bf16Speedup() > kClearly;
  }();
  return prefers;
}

// Whether it is a convolution of an odd number of channels. The instructions multiply pairs of
// numbers, so oneDNN 2.6 also multiplies the first number behind a pixel, which belongs to the next
// pixel or lies behind the image, by 0. That is NaN if the number is infinite or NaN.
bool ReadsNextPixel(const Node& node) {
  const Shape& weights = node.inputs()[1].shape();
  return node.attrs().count("groups") != 0 && node.Int("groups") == 1 && weights[1] % 2 != 0;
}

bool GainsFromBf16(const Node& node) {
  if (ReadsNextPixel(node)) return false;
  if (PrefersBf16Products()) return true;
  // Up to here reading the weights takes longer than multiplying them.
  constexpr int64_t kFewRows = 8;
  const Shape& weights = node.inputs()[1].shape();
  return weights.size() == 2 && node.type(0).num_elements() <= kFewRows * weights[1];
}

bool WidensBf16(const Node& node) { return Converts(node, DType::kBF16, DType::kF32); }
bool RoundsToBf16(const Node& node) { return Converts(node, DType::kF32, DType::kBF16); }

bool MultipliesBf16(const Node& head) {
  const Value &x = head.inputs()[0], &w = head.inputs()[1];
  if (!HasBf16Products() || !WidensBf16(x.node()) || IsStaticValue(x)) return false;
  if (!GainsFromBf16(head)) return false;
  static thread_local KnownValues known;
  return IsStaticValue(w) && known.AreBf16(w);
}

}  // namespace lemma::cpu
