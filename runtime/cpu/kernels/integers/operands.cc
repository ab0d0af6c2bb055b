#include "runtime/cpu/kernels/integers/operands.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/cpu/kernels/dnnl_util.h"
#include "runtime/cpu/kernels/integers/tiles.h"
#include "runtime/cpu/kernels/kernel.h"

namespace lemma::cpu {
namespace {

constexpr int64_t kMostMagnitude = 255;

bool IsNarrow(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }
bool IsNumber(DType dtype) { return dtype == DType::kF32 || dtype == DType::kI32; }

// The body of an element-wise application without the roundings that store its result.
std::optional<ScalarExpr> BodyOf(const Value& v) {
  if (!v.node().is_op() || v.node().num_outputs() != 1) return std::nullopt;
  const NodeTraits& traits = NodeTraitsOf(v.node());
  if (!traits.pointwise || !traits.element) return std::nullopt;
  ScalarExpr body = traits.element->body;
  while (body.kind() == ScalarExpr::Kind::kApply && body.fn() == StoredAs(v.dtype())) {
    body = ScalarExpr(body.args()[0]);
  }
  return body;
}

// Whether `v` holds the integers of its only operand, which are of 8 bits.
bool IsWidened(const Value& v) {
  const std::optional<ScalarExpr> body = BodyOf(v);
  return body && body->kind() == ScalarExpr::Kind::kRead && v.node().inputs().size() == 1 &&
         v.node().inputs()[0].shape() == v.shape() && IsNarrow(v.node().inputs()[0].dtype()) &&
         IsNumber(v.dtype());
}

// The operands a and b if `v` is fn(a, b), element by element; nullopt otherwise.
std::optional<std::pair<Value, Value>> OperandsBy(ScalarFn fn, const Value& v) {
  const std::optional<ScalarExpr> body = BodyOf(v);
  if (!body || body->kind() != ScalarExpr::Kind::kApply || body->fn() != fn) return std::nullopt;
  for (const ScalarExpr& arg : body->args()) {
    if (arg.kind() != ScalarExpr::Kind::kRead) return std::nullopt;
  }
  const std::vector<Value>& in = v.node().inputs();
  return std::make_pair(in[body->args()[0].tensor()], in[body->args()[1].tensor()]);
}

bool IsOne(const Value& v) { return v.type().num_elements() == 1; }

struct Range {
  int64_t low = 0, high = 0;
};

Range RangeOfType(DType dtype) { return dtype == DType::kU8 ? Range{0, 255} : Range{-128, 127}; }

std::optional<Range> RangeOfOperator(const Value& v, int steps);

// The range of a value that is one integer or several, by its payload, its type or the definitions
// of at most `steps` operators.
std::optional<Range> RangeOf(const Value& v, int steps = 8) {
  if (IsNarrow(v.dtype())) return RangeOfType(v.dtype());
  if (IsWidened(v)) return RangeOfType(v.node().inputs()[0].dtype());
  if (!IsNumber(v.dtype())) return std::nullopt;
  if (v.node().is_op()) return steps > 0 ? RangeOfOperator(v, steps - 1) : std::nullopt;
  if (!v.node().has_payload()) return std::nullopt;
  static thread_local absl::flat_hash_map<uint64_t, std::optional<Range>> known;
  auto [entry, fresh] = known.try_emplace(v.node().hash());
  if (!fresh) return entry->second;
  const Tensor& values = v.node().payload();
  Range range;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = values.AtDouble(i);
    if (value != std::trunc(value) || std::abs(value) > kMostMagnitude) return std::nullopt;
    range.low = std::min(range.low, static_cast<int64_t>(value));
    range.high = std::max(range.high, static_cast<int64_t>(value));
  }
  return entry->second = range;
}

std::optional<Range> RangeOfOperator(const Value& v, int steps) {
  const NodeTraits& traits = NodeTraitsOf(v.node());
  const std::vector<Value>& in = v.node().inputs();
  // What moves elements, or stores them in another type, keeps them: they are exact in both.
  const std::optional<ScalarExpr> body = BodyOf(v);
  const bool keeps = traits.reshapes || !traits.views.empty() ||
                     (in.size() == 1 && body && body->kind() == ScalarExpr::Kind::kRead);
  if (keeps || traits.concat_dim) {
    std::optional<Range> all;
    for (const Value& part : in) {
      const std::optional<Range> range = RangeOf(part, steps);
      if (!range) return std::nullopt;
      all = all ? Range{std::min(all->low, range->low), std::max(all->high, range->high)} : *range;
    }
    return all;
  }
  // a modulo n, where a is any integer.
  const auto mod = OperandsBy(ScalarFn::kMod, v);
  if (!mod || v.dtype() != DType::kI32) return std::nullopt;
  if (!IsOne(mod->second) || !mod->second.node().has_payload()) return std::nullopt;
  const auto divisor = static_cast<int64_t>(mod->second.node().payload().AtDouble(0));
  if (divisor <= 0 || divisor - 1 > kMostMagnitude) return std::nullopt;
  return Range{0, divisor - 1};
}

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
std::optional<Range> KnownRangeOf(const Value& v) {
  if (!IsStaticValue(v)) return std::nullopt;
  std::optional<Range> range = RangeOf(v);
  const auto difference = OperandsBy(ScalarFn::kSub, v);
  if (!range && difference) {
    const std::optional<Range> a = RangeOf(difference->first), b = RangeOf(difference->second);
    if (a && b) range = Range{a->low - b->high, a->high - b->low};
  }
  const bool fits = range && range->low >= -kMostMagnitude && range->high <= kMostMagnitude;
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
  const std::optional<Range> range = KnownRangeOf(v);
  return range ? std::make_optional(std::max(-range->low, range->high)) : std::nullopt;
}

int BitsBesideZeroOf(const Value& v) {
  const auto difference = OperandsBy(ScalarFn::kSub, v);
  const std::optional<Range> range = difference ? RangeOf(difference->first) : KnownRangeOf(v);
  int bits = 0;
  while (range && (int64_t{1} << bits) <= range->high - range->low) ++bits;
  return bits;
}

std::optional<IntegerOperand> IntegerOperandOf(const Value& v) {
  if (!IsNumber(v.dtype()) || IsStaticValue(v)) return std::nullopt;
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
  Range zero;
  if (const auto difference = OperandsBy(ScalarFn::kSub, at)) {
    const std::optional<Range> range = RangeOf(difference->second);
    if (!range || !IsOne(difference->second) || difference->first.shape() != at.shape()) return {};
    zero = *range;
    result.zero = difference->second;
    result.nodes.push_back(at.node_ptr());
    at = difference->first;
  }
  if (!IsWidened(at)) return {};
  result.nodes.push_back(at.node_ptr());
  result.source = at.node().inputs()[0];
  if (IsStaticValue(result.source)) return {};
  std::reverse(result.nodes.begin(), result.nodes.end());
  const Range x = RangeOfType(result.source.dtype());
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
