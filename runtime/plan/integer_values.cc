#include "runtime/plan/integer_values.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"

namespace lemma {
namespace {

bool IsNumber(DType dtype) { return dtype == DType::kF32 || dtype == DType::kI32; }

// The body of an element-wise application without the roundings that store its result.
std::optional<ScalarExpr> BodyOf(const Value& v, NodeTraitsCache& cache) {
  if (!v.node().is_op() || v.node().num_outputs() != 1) return std::nullopt;
  const NodeTraits& traits = cache.Of(v.node());
  if (!traits.pointwise || !traits.element) return std::nullopt;
  ScalarExpr body = traits.element->body;
  while (body.kind() == ScalarExpr::Kind::kApply && body.fn() == StoredAs(v.dtype())) {
    body = ScalarExpr(body.args()[0]);
  }
  return body;
}

bool IsOne(const Value& v) { return v.type().num_elements() == 1; }

std::optional<IntegerRange> RangeOfOperator(const Value& v, NodeTraitsCache& cache, int steps) {
  const NodeTraits& traits = cache.Of(v.node());
  const std::vector<Value>& in = v.node().inputs();
  // What moves elements, or stores them in another type, keeps them: they are exact in both.
  const std::optional<ScalarExpr> body = BodyOf(v, cache);
  const bool keeps = traits.reshapes || !traits.views.empty() ||
                     (in.size() == 1 && body && body->kind() == ScalarExpr::Kind::kRead);
  if (keeps || traits.concat_dim) {
    std::optional<IntegerRange> all;
    for (const Value& part : in) {
      const std::optional<IntegerRange> range = RangeOfIntegers(part, cache, steps);
      if (!range) return std::nullopt;
      all = all ? IntegerRange{std::min(all->low, range->low), std::max(all->high, range->high)}
                : *range;
    }
    return all;
  }
  // a modulo n, where a is any integer.
  const auto mod = OperandsOfFunction(ScalarFn::kMod, v, cache);
  if (!mod || v.dtype() != DType::kI32) return std::nullopt;
  if (!IsOne(mod->second) || !mod->second.node().has_payload()) return std::nullopt;
  const auto divisor = static_cast<int64_t>(mod->second.node().payload().AtDouble(0));
  if (divisor <= 0 || divisor - 1 > kLargestStep) return std::nullopt;
  return IntegerRange{0, divisor - 1};
}

}  // namespace

bool IsByteType(DType dtype) { return dtype == DType::kU8 || dtype == DType::kI8; }

IntegerRange RangeOfBytes(DType dtype) {
  return dtype == DType::kU8 ? IntegerRange{0, 255} : IntegerRange{-128, 127};
}

bool WidensBytes(const Value& v, NodeTraitsCache& cache) {
  const std::optional<ScalarExpr> body = BodyOf(v, cache);
  return body && body->kind() == ScalarExpr::Kind::kRead && v.node().inputs().size() == 1 &&
         v.node().inputs()[0].shape() == v.shape() && IsByteType(v.node().inputs()[0].dtype()) &&
         IsNumber(v.dtype());
}

std::optional<std::pair<Value, Value>> OperandsOfFunction(ScalarFn fn, const Value& v,
                                                          NodeTraitsCache& cache) {
  const std::optional<ScalarExpr> body = BodyOf(v, cache);
  if (!body || body->kind() != ScalarExpr::Kind::kApply || body->fn() != fn) return std::nullopt;
  for (const ScalarExpr& arg : body->args()) {
    if (arg.kind() != ScalarExpr::Kind::kRead) return std::nullopt;
  }
  const std::vector<Value>& in = v.node().inputs();
  return std::make_pair(in[body->args()[0].tensor()], in[body->args()[1].tensor()]);
}

// The range of a value that is one integer or several, by its payload, its type or the definitions
// of at most `steps` operators.
std::optional<IntegerRange> RangeOfIntegers(const Value& v, NodeTraitsCache& cache, int steps) {
  if (IsByteType(v.dtype())) return RangeOfBytes(v.dtype());
  if (WidensBytes(v, cache)) return RangeOfBytes(v.node().inputs()[0].dtype());
  if (IsInteger(v.dtype()) && BitsOf(v.dtype()) < 8) {
    return IntegerRange{LeastInteger(v.dtype()), LargestInteger(v.dtype())};
  }
  if (!IsNumber(v.dtype())) return std::nullopt;
  if (v.node().is_op()) return steps > 0 ? RangeOfOperator(v, cache, steps - 1) : std::nullopt;
  if (!v.node().has_payload()) return std::nullopt;
  static thread_local absl::flat_hash_map<uint64_t, std::optional<IntegerRange>> known;
  auto [entry, fresh] = known.try_emplace(v.node().hash());
  if (!fresh) return entry->second;
  const Tensor& values = v.node().payload();
  IntegerRange range;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = values.AtDouble(i);
    if (value != std::trunc(value) || std::abs(value) > kLargestStep) return std::nullopt;
    range.low = std::min(range.low, static_cast<int64_t>(value));
    range.high = std::max(range.high, static_cast<int64_t>(value));
  }
  return entry->second = range;
}

std::optional<CenteredBytes> CenteredBytesOf(const Value& v, NodeTraitsCache& traits) {
  CenteredBytes result;
  Value at = v;
  if (const auto difference = OperandsOfFunction(ScalarFn::kSub, at, traits)) {
    if (!IsOne(difference->second) || difference->first.shape() != at.shape()) return std::nullopt;
    result.zero = difference->second;
    result.nodes.push_back(at.node_ptr());
    at = difference->first;
  }
  if (!WidensBytes(at, traits)) return std::nullopt;
  result.nodes.push_back(at.node_ptr());
  result.source = at.node().inputs()[0];
  std::reverse(result.nodes.begin(), result.nodes.end());
  return result;
}

}  // namespace lemma
