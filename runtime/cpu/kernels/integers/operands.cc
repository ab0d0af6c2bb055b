#include "runtime/cpu/kernels/integers/operands.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/cpu/kernels/kernel.h"
#include "runtime/plan/integer_values.h"

namespace lemma::cpu {
namespace {

NodeTraitsCache& Traits() { return TraitsOfThread(); }

// The operands a and b if `v` is fn(a, b), element by element; nullopt otherwise.
std::optional<std::pair<Value, Value>> OperandsBy(ScalarFn fn, const Value& v) {
  return OperandsOfFunction(fn, v, Traits());
}

bool IsOne(const Value& v) { return v.type().num_elements() == 1; }

std::optional<IntegerRange> RangeOf(const Value& v) { return RangeOfIntegers(v, Traits()); }

// Whether the elements of `scale`, broadcast over `shape`, differ along dimension `dim` only.
bool DiffersOnlyAlong(const Value& scale, const Shape& shape, int dim) {
  const int behind = static_cast<int>(shape.size()) - scale.type().rank();
  for (int d = 0; d < scale.type().rank(); ++d) {
    if (scale.shape()[d] != 1 && d + behind != dim) return false;
  }
  return true;
}

// Fills the weight's part; `out` is the dimension of the result's channels in the head's operand.
bool TraceWeight(Value w, int out, IntegerProduct* product) {
  product->permutation.resize(w.type().rank());
  std::iota(product->permutation.begin(), product->permutation.end(), 0);
  while (w.node().is_op() && w.node().num_outputs() == 1) {
    const NodeTraits& traits = NodeTraitsOf(w.node());
    if (traits.views.size() != 1 || traits.views[0].permutation.empty()) break;
    const std::vector<int>& step = traits.views[0].permutation;
    for (int& d : product->permutation) d = step[d];
    product->weight_nodes.push_back(w.node_ptr());
    w = w.node().inputs()[traits.views[0].input];
  }
  product->integers = w;
  if (const auto scaled = ScaledIntegersOf(w)) {
    if (!DiffersOnlyAlong(scaled->scale, w.shape(), product->permutation[out])) return false;
    product->weight_nodes.push_back(w.node_ptr());
    product->integers = scaled->integers;
    product->weight_scale = scaled->scale;
  }
  std::reverse(product->weight_nodes.begin(), product->weight_nodes.end());
  return LargestKnownInteger(product->integers).has_value();
}

// The range of the elements of a static value that are integers of magnitude at most 255.
std::optional<IntegerRange> KnownRangeOf(const Value& v) {
  if (!IsStaticValue(v)) return std::nullopt;
  std::optional<IntegerRange> range = RangeOf(v);
  const auto difference = OperandsBy(ScalarFn::kSub, v);
  if (!range && difference) {
    const std::optional<IntegerRange> a = RangeOf(difference->first),
                                      b = RangeOf(difference->second);
    if (a && b) range = IntegerRange{a->low - b->high, a->high - b->low};
  }
  const bool fits = range && range->low >= -kLargestStep && range->high <= kLargestStep;
  return fits ? range : std::nullopt;
}

}  // namespace

std::optional<ScaledIntegers> ScaledIntegersOf(const Value& v) {
  const auto factors = OperandsBy(ScalarFn::kMul, v);
  if (!factors || v.dtype() != DType::kF32) return std::nullopt;
  const auto& [a, b] = *factors;
  if (!IsStaticValue(a) || !IsStaticValue(b)) return std::nullopt;
  if (a.shape() == v.shape() && LargestKnownInteger(a)) return ScaledIntegers{a, b};
  if (b.shape() == v.shape() && LargestKnownInteger(b)) return ScaledIntegers{b, a};
  return std::nullopt;
}

std::optional<int64_t> LargestKnownInteger(const Value& v) {
  const std::optional<IntegerRange> range = KnownRangeOf(v);
  return range ? std::make_optional(std::max(-range->low, range->high)) : std::nullopt;
}

int BitsBesideZeroOf(const Value& v) {
  const auto difference = OperandsBy(ScalarFn::kSub, v);
  const std::optional<IntegerRange> range =
      difference ? RangeOf(difference->first) : KnownRangeOf(v);
  int bits = 0;
  while (range && (int64_t{1} << bits) <= range->high - range->low) ++bits;
  return bits;
}

std::optional<IntegerOperand> IntegerOperandOf(const Value& v) {
  if (IsStaticValue(v)) return std::nullopt;
  IntegerOperand result;
  Value at = v;
  while (at.dtype() == DType::kF32) {
    const auto factors = OperandsBy(ScalarFn::kMul, at);
    if (!factors) break;
    const bool first = factors->first.shape() == at.shape() && IsOne(factors->second);
    if (!first && (factors->second.shape() != at.shape() || !IsOne(factors->first))) return {};
    result.scales.push_back(first ? factors->second : factors->first);
    result.nodes.push_back(at.node_ptr());
    at = first ? factors->first : factors->second;
  }
  std::optional<CenteredBytes> bytes = CenteredBytesOf(at, Traits());
  if (!bytes || IsStaticValue(bytes->source)) return std::nullopt;
  IntegerRange zero;
  if (bytes->zero) {
    const std::optional<IntegerRange> range = RangeOf(bytes->zero);
    if (!range) return std::nullopt;
    zero = *range;
  }
  result.source = bytes->source;
  result.zero = bytes->zero;
  std::reverse(result.nodes.begin(), result.nodes.end());
  result.nodes.insert(result.nodes.begin(), bytes->nodes.begin(), bytes->nodes.end());
  const IntegerRange x = RangeOfBytes(result.source.dtype());
  result.largest = std::max(std::abs(x.low - zero.high), std::abs(x.high - zero.low));
  return result;
}

std::optional<IntegerProduct> IntegerProductOf(const Node& head) {
  const bool conv = HeadOf(head) == ProductHead::kConvolution;
  const bool product = HeadOf(head) == ProductHead::kMatrices;
  if (!kernels::HasIntegerTiles() || (!conv && !product)) return std::nullopt;
  const Value &x = head.inputs()[0], &w = head.inputs()[1];
  if (head.type(0).num_elements() == 0 || x.type().num_elements() == 0) return std::nullopt;
  IntegerProduct result;
  std::optional<IntegerOperand> operand = IntegerOperandOf(x);
  if (!operand) return std::nullopt;
  result.x = *std::move(operand);
  result.is_float = x.dtype() == DType::kF32;
  if (product && (w.type().rank() != 2 || x.type().rank() < 2)) return std::nullopt;
  if (!TraceWeight(w, product ? 1 : 0, &result)) return std::nullopt;
  if (!result.is_float)
    return head.inputs().size() == 2 ? std::make_optional(result) : std::nullopt;
  // Few columns for each number of x do not pay, unless each column has a channel of its own.
  constexpr int64_t kFewColumns = 8;
  const int64_t groups = conv ? head.Int("groups") : 1;
  const int64_t columns = product ? w.shape()[1] : w.shape()[0] / groups;
  const bool by_channel = conv && groups == x.shape()[1] && groups == w.shape()[0];
  if (columns < kFewColumns && !(by_channel && groups >= kFewColumns)) return std::nullopt;
  const int64_t terms = product ? w.shape()[0] : w.type().num_elements() / w.shape()[0];
  const double most = static_cast<double>(result.x.largest) * terms *
                      static_cast<double>(*LargestKnownInteger(result.integers));
  if (most > INT32_MAX) return std::nullopt;
  return result;
}

}  // namespace lemma::cpu
